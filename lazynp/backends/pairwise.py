"""Pairwise sums in C++: what kernels and loops add up in, with errors that grow as the logarithm of the length."""

LEAF = 16  # additions to an accumulator before it is emptied
PAIRWISE = r"""
// Sums of 1, 2, 4, ... leaves of additions, as the digits of a binary number.
template <class T> struct LazynpSums {
    alignas(T) char memory[40 * sizeof(T)];  // not T[40]: its constructor would clear them
    uint64_t leaves = 0;

    __attribute__((noinline)) void push(T sum) {
        T* const level = (T*)memory;
        const int carried = __builtin_ctzll(++leaves);
        for (int j = 0; j < carried; ++j) sum = level[j] + sum;
        level[carried] = sum;
    }
    inline T total(T sum) {
        const T* const level = (const T*)memory;
        for (; leaves != 0; leaves &= leaves - 1) sum = level[__builtin_ctzll(leaves)] + sum;
        return sum;
    }
};
"""
