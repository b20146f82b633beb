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
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace lazynp_pool_3 {

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

    void work() {
        const int mine = joined.fetch_add(1, std::memory_order_relaxed);
        for (int k = 0; k < parts; ++k) {
            Part& p = part[(mine + k) % parts];
            for (;;) {
                const int64_t begin = p.next.fetch_add(block, std::memory_order_relaxed);
                if (begin >= p.end) break;
                body(context, begin, std::min(begin + block, p.end));
            }
        }
    }
};

struct Pool {
    std::mutex lock, caller;
    std::condition_variable wake;
    Job* job = nullptr;
    int64_t number = 0;
    int threads = 0;
    const pid_t pid = getpid();

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

    void run(Job& mine) {
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
        mine.work();
        {
            std::unique_lock<std::mutex> hold(lock);
            job = nullptr;
        }
        while (mine.active.load(std::memory_order_acquire) != 0) std::this_thread::yield();
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

}  // namespace lazynp_pool_3

// While `end` is not negative, loops run over this range only, on the caller's thread.
struct LazynpWindow {
    int64_t begin, end;
};
static thread_local LazynpWindow lazynp_window{0, -1};

// body(begin, end) over [begin, end) in steps of `step`, on up to `threads` threads.
template <class Body>
static inline void lazynp_for(int64_t begin, int64_t end, int64_t step, int threads, Body body) {
    using namespace lazynp_pool_3;
    if (lazynp_window.end >= 0) return body(lazynp_window.begin, lazynp_window.end);
    const int64_t steps = (end - begin + step - 1) / step;
    if (threads > steps) threads = (int)steps;
    Pool* mine = threads > 1 ? get() : nullptr;
    if (mine == nullptr || !mine->caller.try_lock()) return body(begin, end);
    if (threads > 64) threads = 64;
    const int64_t block = std::max<int64_t>(1, steps / (threads * 8)) * step;
    Part part[64];
    for (int t = 0; t < threads; ++t) {
        part[t].next = begin + steps * t / threads * step;
        part[t].end = t + 1 < threads ? begin + steps * (t + 1) / threads * step : end;
    }
    Job job{[](void* context, int64_t from, int64_t to) { (*(Body*)context)(from, to); },
            &body, block, threads - 1, threads, part};
    mine->run(job);
    mine->caller.unlock();
}
"""

REGION = re.compile(r"^\s*#pragma omp parallel num_threads\(lazynp_threads\)\s*$")
THREAD = re.compile(r"^\s*int tid = omp_get_thread_num\(\);\s*$")
LOOP_PRAGMA = re.compile(r"^\s*#pragma omp for( simd)?\s*$")
LOOP = re.compile(
    r"^(\s*)for\(int64_t (\w+)=static_cast<int64_t>\((.+?)\); \w+<static_cast<int64_t>\((.+)\); \w+\+=(.+)\)\s*$"
)


def pooled(source: str) -> str:
    """A kernel with the pool's loops in place of OpenMP's; as it is where it needs more than loops."""
    lines = source.split("\n")
    regions = [i for i, line in enumerate(lines) if REGION.match(line)]
    numbered = any(re.search(r"\btid\b", line) and not THREAD.match(line) for line in lines)
    if not regions or numbered or "_local" in source or "collapse" in source:
        return source
    out: list[str] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        if REGION.match(line) or THREAD.match(line):
            i += 1
            continue
        pragma = LOOP_PRAGMA.match(line)
        if pragma is None:
            if "#pragma omp" in line and "simd" not in line:
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
        out.append(
            f"{indent}lazynp_for({begin}, {end}, {step}, lazynp_threads, "
            "[&](int64_t lazynp_begin, int64_t lazynp_end) {"
        )
        if pragma.group(1):
            out.append(f"{indent}#pragma omp simd")
        out.append(f"{indent}for(int64_t {name}=lazynp_begin; {name}<lazynp_end; {name}+={step})")
        out.extend(lines[i + 2 : stop + 1])
        out.append(f"{indent}}});")
        i = stop + 1
    return "\n".join(out)
