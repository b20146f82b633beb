"""Kernels run together, a few rows of each at a time, so that what one writes is still in the cache when the next
reads it (temporal blocking; Wonnacott, "Using time skewing to eliminate idle time due to memory bandwidth and network
limitations", 2000).

A chain takes calls of compiled kernels, in order, and runs them later. Row r of a call (an index of its first axis)
may touch what an earlier call's rows r + low to r + high touch, one of them writing: both numbers follow from the
operands' addresses and strides. Each thread has a range of rows, which it walks through in blocks: a block of the first
call, then of the second as far as the first allows, and so on. Rows that need another thread's are run at the end.

A call joins if its rows can run one by one (`ROWS` in `source.py` says when) or if it is small, as one row; and if its
distances to the calls before are small. Else what waits is run first. So the result is that of running all in order.
"""

CHAIN = r"""
namespace lazynp_pool_4 {

using Body = int (*)(void* const*, const int64_t*, const char*, int64_t);
using Rows = void (*)(void* const*, const int64_t*, const char*, int64_t, int64_t);

// What row r of a call touches of an operand: `length` bytes from low + r * step.
struct Extent {
    char* low;
    int64_t length, step;
    bool written;
};

// Rows r + low to r + high of another call.
struct Distance {
    int64_t low = 0, high = -1;
    bool any() const { return low <= high; }
};

struct Call {
    Body body;
    Rows rows;  // null: one row
    double work;  // threads that it is worth
    int64_t count = 1, at = 0, row_bytes = 0;  // row r stands at coordinate at + r
    std::vector<void*> pointers;
    std::vector<int64_t> dims;
    std::vector<char> scalars;
    std::vector<Extent> extents;
    std::vector<Distance> after;  // of each earlier call, in coordinates

    void all(int64_t threads) const { body(pointers.data(), dims.data(), scalars.data(), threads); }

    void run(int64_t begin, int64_t end) const {
        begin = std::max(begin, at) - at;
        end = std::min(end, at + count) - at;
        if (begin >= end) return;
        if (rows != nullptr) rows(pointers.data(), dims.data(), scalars.data(), begin, end);
        else all(1);
    }
};

constexpr int64_t FAR = INT64_C(1) << 40;
constexpr int64_t LONGEST = 64;  // calls
constexpr int64_t FARTHEST = 32;  // rows
constexpr int64_t ONE_ROW = 1 << 16;  // bytes that a call of one row may touch
constexpr int64_t BLOCK_BYTES = 3 << 17;  // of operands: a share of a core's cache

static inline int64_t lazynp_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

struct Chain {
    std::vector<Call> calls;

    // false: their memory meets in a way that has no distance.
    static bool distance(const Call& before, const Call& call, Distance& found) {
        for (const Extent& a : before.extents) {
            for (const Extent& b : call.extents) {
                if (!a.written && !b.written) continue;
                const char* a_end = a.low + a.length + (before.count - 1) * a.step;
                const char* b_end = b.low + b.length + (call.count - 1) * b.step;
                if (a.low >= b_end || b.low >= a_end) continue;
                Distance d{0, 0};
                if (before.count > 1 || call.count > 1) {
                    const int64_t step = before.count > 1 ? a.step : b.step;
                    if (step <= 0 || (before.count > 1 && call.count > 1 && a.step != b.step)) return false;
                    d.low = lazynp_floor_div(b.low - a.low - a.length, step) + 1;
                    d.high = -lazynp_floor_div(-(b.low - a.low + b.length), step) - 1;
                    if (!d.any()) continue;
                }
                found = found.any() ? Distance{std::min(found.low, d.low), std::max(found.high, d.high)} : d;
            }
        }
        return true;
    }

    bool place(Call& call) const {
        if ((int64_t)calls.size() >= LONGEST) return false;
        bool placed = false;
        call.after.clear();
        for (const Call& before : calls) {
            Distance d;
            if (!distance(before, call, d)) return false;
            if (d.any()) {
                if (!placed) call.at = before.at + lazynp_floor_div(d.low + d.high, 2);
                placed = true;
                d.low += before.at - call.at;
                d.high += before.at - call.at;
                if (std::abs(d.low) > FARTHEST || std::abs(d.high) > FARTHEST) return false;
            }
            call.after.push_back(d);
        }
        return true;
    }

    void add(Call&& call, int64_t threads) {
        call.at = 0;
        if (!place(call)) {
            run(threads);
            call.at = 0;
            place(call);
        }
        calls.push_back(std::move(call));
    }

    void run(int64_t threads) {
        if (calls.size() == 1) calls[0].all(threads);
        else if (!calls.empty()) skewed(threads);
        calls.clear();
    }

    void skewed(int64_t threads) {
        const int64_t n = calls.size();
        double work = 0;
        for (const Call& c : calls) work += c.work;
        threads = work < 2.0 ? 1 : std::min(threads, (int64_t)work);
        int64_t first = calls[0].at, last = first, row_bytes = 0;
        for (const Call& c : calls) {
            first = std::min(first, c.at);
            last = std::max(last, c.at + c.count);
            row_bytes = std::max(row_bytes, c.row_bytes);
        }
        const int64_t rows = last - first;
        const int64_t most = std::max<int64_t>(1, rows / (4 * FARTHEST));
        const int64_t units = threads < 2 ? 1 : std::min<int64_t>(4 * threads, most);
        const int64_t block = std::max<int64_t>(1, BLOCK_BYTES / std::max<int64_t>(1, row_bytes));
        // Rows [begin, end) of call j need only rows of unit u.
        std::vector<int64_t> begin(units * n), end(units * n);
        for (int64_t u = 0; u < units; ++u) {
            for (int64_t j = 0; j < n; ++j) {
                int64_t from = u == 0 ? -FAR : first + rows * u / units;
                int64_t to = u == units - 1 ? FAR : first + rows * (u + 1) / units;
                for (int64_t i = 0; i < j; ++i) {
                    const Distance& d = calls[j].after[i];
                    if (!d.any()) continue;
                    if (u > 0) from = std::max(from, begin[u * n + i] - d.low);
                    if (u < units - 1) to = std::min(to, end[u * n + i] - d.high);
                }
                begin[u * n + j] = from;
                end[u * n + j] = std::max(from, to);
            }
        }
        auto walk = [&](int64_t u) {
            std::vector<int64_t> done(n);
            for (int64_t j = 0; j < n; ++j) done[j] = std::max(begin[u * n + j], calls[j].at);
            for (int64_t to = (u == 0 ? first : first + rows * u / units) + block;; to += block) {
                bool more = false;
                for (int64_t j = 0; j < n; ++j) {
                    const int64_t stop = std::min(end[u * n + j], calls[j].at + calls[j].count);
                    int64_t reach = std::min(to, stop);
                    for (int64_t i = 0; i < j; ++i) {
                        const Distance& d = calls[j].after[i];
                        if (d.any() && done[i] < std::min(end[u * n + i], calls[i].at + calls[i].count))
                            reach = std::min(reach, done[i] - d.high);
                    }
                    if (reach > done[j]) {
                        calls[j].run(done[j], reach);
                        done[j] = reach;
                    }
                    more = more || done[j] < stop;
                }
                if (!more) break;
            }
        };
        lazynp_for(0, units, 1, (int)threads, [&](int64_t from, int64_t to) {
            for (int64_t u = from; u < to; ++u) walk(u);
        });
        for (int64_t j = 0; j < n; ++j)
            for (int64_t u = 1; u < units; ++u) calls[j].run(end[(u - 1) * n + j], begin[u * n + j]);
    }
};

}  // namespace lazynp_pool_4

// Of an operand: where its bytes of one index of the first axis lie; false if its memory runs backwards there.
static inline bool lazynp_extent(char* pointer, const int64_t* shape, const int64_t* strides, int ndim, int64_t item,
                                 bool rows, bool written, lazynp_pool_4::Extent& out) {
    out = {pointer, item, rows ? strides[0] * item : 0, written};
    if (rows && shape[0] > 1 && out.step < 0) return false;
    for (int j = rows ? 1 : 0; j < ndim; ++j) {
        const int64_t reach = (shape[j] - 1) * strides[j] * item;
        if (reach < 0) out.low += reach;
        out.length += std::abs(reach);
    }
    return true;
}

// Take a call into the chain; false if it cannot wait there (what waits has been run then).
static inline bool lazynp_enqueue(lazynp_pool_4::Chain* chain, lazynp_pool_4::Body body, lazynp_pool_4::Rows rows,
                                  void* const* pointers, const int64_t* dims, const int64_t* items, int inputs,
                                  int count, int ndim, const char* scalars, int64_t scalar_bytes, double work,
                                  int64_t threads) {
    using namespace lazynp_pool_4;
    Call call{body, ndim > 0 && dims[0] > 1 ? rows : nullptr, work};
    const bool by_rows = call.rows != nullptr;
    call.extents.resize(count);
    int64_t largest = 0;
    bool fit = true;
    for (int i = 0; i < count && fit; ++i) {
        Extent& e = call.extents[i];
        fit = lazynp_extent((char*)pointers[i], dims, dims + ndim * (1 + i), ndim, items[i], by_rows, i >= inputs, e);
        largest = std::max(largest, e.length);
        bool counted = false;  // shifted views of one array count once
        for (int k = 0; k < i; ++k)
            counted = counted || (e.step == call.extents[k].step && std::abs(e.low - call.extents[k].low) < 8 * e.step);
        if (!counted) call.row_bytes += std::max(e.step, e.length);
    }
    if (!fit || (!by_rows && (largest > ONE_ROW || chain->calls.empty()))) {
        chain->run(threads);
        return false;
    }
    if (by_rows) call.count = dims[0];
    call.pointers.assign(pointers, pointers + count);
    call.dims.assign(dims, dims + ndim * (1 + count));
    call.scalars.assign(scalars, scalars + scalar_bytes);
    chain->add(std::move(call), threads);
    return true;
}


namespace lazynp_pool_4 {

static void copy(char* to, const char* from, const int64_t* shape, const int64_t* to_steps, const int64_t* from_steps,
                 int ndim, int64_t item) {
    if (ndim == 0) { std::memcpy(to, from, item); return; }
    if (ndim == 1 && to_steps[0] == 1 && from_steps[0] == 1) { std::memmove(to, from, item * shape[0]); return; }
    for (int64_t i = 0; i < shape[0]; ++i)
        copy(to + i * to_steps[0] * item, from + i * from_steps[0] * item, shape + 1, to_steps + 1, from_steps + 1,
             ndim - 1, item);
}

// scalars: the item's size, the number of axes.
static void copy_rows(void* const* pointers, const int64_t* dims, const char* scalars, int64_t begin, int64_t end) {
    const int64_t item = ((const int64_t*)scalars)[0], ndim = ((const int64_t*)scalars)[1];
    const int64_t *from = dims + ndim, *to = dims + 2 * ndim;
    for (int64_t r = begin; r < end; ++r)
        copy((char*)pointers[1] + r * to[0] * item, (const char*)pointers[0] + r * from[0] * item, dims + 1, to + 1,
             from + 1, ndim - 1, item);
}

static int copy_all(void* const* pointers, const int64_t* dims, const char* scalars, int64_t) {
    const int64_t item = ((const int64_t*)scalars)[0], ndim = ((const int64_t*)scalars)[1];
    copy((char*)pointers[1], (const char*)pointers[0], dims, dims + 2 * ndim, dims + ndim, ndim, item);
    return 0;
}

}  // namespace lazynp_pool_4

#define LAZYNP_CHAIN LAZYNP_EXPORT __attribute__((used)) inline

LAZYNP_CHAIN void* lazynp_chain_new() { return new lazynp_pool_4::Chain; }

LAZYNP_CHAIN void lazynp_chain_run(void* chain, int64_t threads) { ((lazynp_pool_4::Chain*)chain)->run(threads); }

// One array into another of the same shape and item size, which share no memory. False: not taken, what waits has run.
LAZYNP_CHAIN int lazynp_chain_copy(void* chain, const LazynpArray* to, const LazynpArray* from, int64_t item,
                                   int64_t threads) {
    const LazynpArray* const arrays[] = {from, to};
    const int ndim = to->ndim;
    int64_t dims[3 * 8];
    void* pointers[] = {from->data, to->data};
    const int64_t items[] = {item, item}, scalars[] = {item, ndim};
    bool fit = ndim <= 8 && from->ndim == ndim;
    for (int j = 0; fit && j < ndim; ++j) {
        dims[j] = to->shape[j];
        fit = from->shape[j] == dims[j] && to->strides[j] % item == 0 && from->strides[j] % item == 0;
        dims[ndim + j] = from->strides[j] / item;
        dims[2 * ndim + j] = to->strides[j] / item;
    }
    if (!fit) {
        lazynp_chain_run(chain, threads);
        return 0;
    }
    int64_t reach = 0;
    for (int j = 0; j < ndim; ++j) reach += std::abs((dims[j] - 1) * to->strides[j]);
    const bool rows = reach > lazynp_pool_4::ONE_ROW;
    double work = 1e-5;
    for (int j = 0; j < ndim; ++j) work *= (double)dims[j];
    return lazynp_enqueue((lazynp_pool_4::Chain*)chain, lazynp_pool_4::copy_all,
                          rows ? lazynp_pool_4::copy_rows : nullptr, pointers, dims, items, 1, 2, ndim,
                          (const char*)scalars, sizeof scalars, work, threads);
}
"""
