"""Threads of compiled code: a pool of our own in place of OpenMP's regions, whose barrier waits for every thread.

On a machine that others use too, a helper may be off its core when a kernel starts. With OpenMP everybody waits for it
at the end; here each thread walks through a part of its own, block after block, so that it reads and writes one stream,
and then takes blocks of the others' parts; at the end the caller waits only for helpers that are in the middle of one.
Inductor's `#pragma omp for` loops become calls of `lazynp_for`; regions with per-thread partial results have become
loops over blocks before (`sums`).

The pool is one for all artifacts of a process (an inline variable is, whichever shared object it stands in), and is
made anew in a forked child.
"""

from __future__ import annotations

import re

POOL = r"""
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace lazynp_pool_4 {

struct alignas(64) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
};

struct Job {
    void (*body)(void*, int64_t, int64_t);
    void* context;
    int64_t block;
    int helpers;  // so many more may join
    int parts;
    Part* part;
    std::atomic<int> active{0}, joined{0};

    // How much of the range the caller has done itself.
    int64_t work() {
        const int mine = joined.fetch_add(1, std::memory_order_relaxed);
        int64_t done = 0;
        for (int k = 0; k < parts; ++k) {
            Part& p = part[(mine + k) % parts];
            for (;;) {
                const int64_t begin = p.next.fetch_add(block, std::memory_order_relaxed);
                if (begin >= p.end) break;
                body(context, begin, std::min(begin + block, p.end));
                done += std::min(begin + block, p.end) - begin;
            }
        }
        return done;
    }
};

static inline int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Pool {
    std::mutex lock, caller;
    std::condition_variable wake;
    Job* job = nullptr;
    int64_t number = 0;
    int threads = 0;
    // Nanoseconds that helpers have saved lately; until when the caller does without them; for how long it did last.
    double saved = 0;
    int64_t alone_until = 0, pause = 0;
    const pid_t pid = getpid();

    // What is lost by waiting for helpers that are off their core may be more than what they do. `all` is the range, of
    // which the caller has done `own` in `work` of `time` nanoseconds.
    void weigh(int64_t all, int64_t own, int64_t work, int64_t time) {
        if (own == 0) return;
        saved = 0.8 * saved + (double)work * ((double)all / (double)own) - (double)time;
        if (saved >= 0) {
            if (saved > 3 * (double)time) pause = 0;
            return;
        }
        pause = std::min<int64_t>(std::max<int64_t>(2 * pause, 20000000), 640000000);
        alone_until = now() + pause;
        saved = 0;
    }

    static void help(Pool* pool) {
        int64_t seen = 0;
        for (;;) {
            Job* job;
            {
                std::unique_lock<std::mutex> hold(pool->lock);
                pool->wake.wait(
                    hold, [&] { return pool->number != seen && pool->job != nullptr && pool->job->helpers > 0; });
                seen = pool->number;
                job = pool->job;
                --job->helpers;
                job->active.fetch_add(1);
            }
            job->work();
            job->active.fetch_sub(1);
        }
    }

    void run(Job& mine, int64_t all) {
        const int64_t begun = now();
        {
            std::unique_lock<std::mutex> hold(lock);
            try {
                while (threads < mine.helpers) {
                    std::thread(help, this).detach();
                    ++threads;
                }
            } catch (const std::system_error&) {  // the system has no more: those that there are do it
            }
            job = &mine;
            ++number;
        }
        mine.helpers > 1 ? wake.notify_all() : wake.notify_one();
        const int64_t own = mine.work();
        {
            std::unique_lock<std::mutex> hold(lock);
            job = nullptr;
        }
        const int64_t worked = now();
        while (mine.active.load(std::memory_order_acquire) != 0) std::this_thread::yield();
        weigh(all, own, worked - begun, now() - begun);
    }
};

// Never destroyed: helpers may still wait on it when the process ends.
__attribute__((visibility("default"))) inline std::atomic<Pool*> pool{nullptr};

inline Pool* get() {
    Pool* found = pool.load();
    if (found == nullptr || found->pid != getpid()) {
        Pool* made = new Pool;
        if (pool.compare_exchange_strong(found, made)) return made;
        delete made;
        found = pool.load();
    }
    return found;
}

}  // namespace lazynp_pool_4

// While `end` is not negative, loops run over this range only, on the caller's thread.
struct LazynpWindow {
    int64_t begin, end;
};
static thread_local LazynpWindow lazynp_window{0, -1};

// body(begin, end) over [begin, end) in steps of `step`, on up to `threads` threads.
template <class Body>
static inline void lazynp_for(int64_t begin, int64_t end, int64_t step, int threads, Body body) {
    using namespace lazynp_pool_4;
    if (lazynp_window.end >= 0) return body(lazynp_window.begin, lazynp_window.end);
    const int64_t steps = (end - begin + step - 1) / step;
    if (threads > steps) threads = (int)steps;
    Pool* mine = threads > 1 ? get() : nullptr;
    if (mine == nullptr || !mine->caller.try_lock()) return body(begin, end);
    if (mine->alone_until != 0 && now() < mine->alone_until) {
        mine->caller.unlock();
        return body(begin, end);
    }
    if (threads > 64) threads = 64;
    const int64_t block = std::max<int64_t>(1, steps / (threads * 8)) * step;
    Part part[64];
    for (int t = 0; t < threads; ++t) {
        part[t].next = begin + steps * t / threads * step;
        part[t].end = t + 1 < threads ? begin + steps * (t + 1) / threads * step : end;
    }
    Job job{[](void* context, int64_t from, int64_t to) { (*(Body*)context)(from, to); },
            &body, block, threads - 1, threads, part};
    mine->run(job, end - begin);
    mine->caller.unlock();
}
"""

REGION = re.compile(r"^\s*#pragma omp parallel num_threads\(lazynp_threads\)\s*$")
THREAD = re.compile(r"^\s*int (?:tid|lazynp_block) = omp_get_thread_num\(\);\s*$")  # the latter: see `sums`
SINGLE = re.compile(r"^\s*#pragma omp single\s*$")
PAIR = re.compile(r"^\s*#pragma omp for collapse\(2\)\s*$")
PARTIAL = re.compile(r"\btmp_acc\w*_local\b")  # a thread's own part of a result
SCRATCH = re.compile(r"^\s*(?:std::unique_ptr<.*> buf_\w+ = std::make_unique<.*|.*\* \w+ = buf_\w+\.get\(\);)$")
LOOP_PRAGMA = re.compile(r"^\s*#pragma omp for( simd)?\s*$")
LOOP = re.compile(
    r"^(\s*)for\(int64_t (\w+)=static_cast<int64_t>\((.+?)\); \w+<static_cast<int64_t>\((.+)\); \w+\+=(.+)\)\s*$"
)


def as_one(outer: re.Match[str], inner: re.Match[str]) -> list[str]:
    """The heads of two loops, one in the other, as one of the pool's over both: the outer one may be short."""
    indent, x, begin, end, step = outer.groups()
    deep, y, first, last, by = inner.groups()
    return [
        f"{indent}const int64_t lazynp_count_{x} = (({end}) - ({begin}) + ({step}) - 1) / ({step});",
        f"{indent}const int64_t lazynp_count_{y} = (({last}) - ({first}) + ({by}) - 1) / ({by});",
        f"{indent}lazynp_for(0, lazynp_count_{x} * lazynp_count_{y}, 1, lazynp_threads, "
        "[&](int64_t lazynp_begin, int64_t lazynp_end) {",
        f"{indent}for(int64_t lazynp_at = lazynp_begin; lazynp_at < lazynp_end;)",
        f"{indent}{{",
        f"{deep}const int64_t {x} = {begin} + lazynp_at / lazynp_count_{y} * ({step});",
        f"{deep}const int64_t lazynp_from = lazynp_at % lazynp_count_{y};",
        f"{deep}const int64_t lazynp_to = std::min(lazynp_count_{y}, lazynp_from + lazynp_end - lazynp_at);",
        f"{deep}lazynp_at += lazynp_to - lazynp_from;",
        f"{deep}const int64_t lazynp_stop = {first} + lazynp_to * ({by});",
        f"{deep}for(int64_t {y}={first} + lazynp_from * ({by}); {y}<lazynp_stop; {y}+={by})",
    ]


def pooled(source: str) -> str:
    """A kernel with the pool's loops in place of OpenMP's; as it is where it needs more than loops."""
    lines = source.split("\n")
    regions = [i for i, line in enumerate(lines) if REGION.match(line)]
    numbered = any(re.search(r"\btid\b", line) and not THREAD.match(line) for line in lines)
    if not regions or numbered or PARTIAL.search(source):
        return source
    out: list[str] = []
    scratch: list[str] = []  # memory that each thread has of its own, for the loop that follows
    i = 0
    while i < len(lines):
        line = lines[i]
        if SCRATCH.match(line):
            scratch.append(line)
            i += 1
            continue
        if REGION.match(line) or THREAD.match(line) or SINGLE.match(line):  # between loops only the caller is there
            i += 1
            continue
        pragma, pair = LOOP_PRAGMA.match(line), PAIR.match(line)
        if pragma is None and pair is None:
            if "#pragma omp" in line and ("simd" not in line or "collapse" in line):
                return source
            out.append(line)
            i += 1
            continue
        loop = LOOP.match(lines[i + 1])
        if loop is None:
            return source
        indent, name, begin, end, step = loop.groups()
        stop = next((j for j in range(i + 2, len(lines)) if lines[j].rstrip() == indent + "}"), None)
        if stop is None or lines[i + 2].rstrip() != indent + "{":
            return source
        if pragma is None:
            inner = LOOP.match(lines[i + 3])
            if inner is None:
                return source
            heads = as_one(loop, inner)
            out.extend([*heads[:3], *scratch, *heads[3:], *lines[i + 4 : stop + 1], f"{indent}}});"])
            scratch = []
            i = stop + 1
            continue
        out.append(
            f"{indent}lazynp_for({begin}, {end}, {step}, lazynp_threads, "
            "[&](int64_t lazynp_begin, int64_t lazynp_end) {"
        )
        out, scratch = [*out, *scratch], []
        if pragma.group(1):
            out.append(f"{indent}#pragma omp simd")
        out.append(f"{indent}for(int64_t {name}=lazynp_begin; {name}<lazynp_end; {name}+={step})")
        out.extend(lines[i + 2 : stop + 1])
        out.append(f"{indent}}});")
        i = stop + 1
    return source if scratch else "\n".join(out)
