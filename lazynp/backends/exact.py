"""Sums in C++: what kernels and loops add up in, exact to one rounding of the result."""

SUM = r"""
// What infinities have rounded off is no number: then the sum without it.
template <class T> inline auto lazynp_number(const T& sum, const T& high, int) -> decltype(T::blendv(sum, high, sum)) {
    return T::blendv(sum, high, sum != sum);
}
template <class T> inline T lazynp_number(const T& sum, const T& high, long) { return sum == sum ? sum : high; }

// A sum and what its additions have rounded off (Knuth's TwoSum): as if it were added up in twice the digits.
template <class T> struct LazynpSum {
    T high, low;

    inline LazynpSum(T value = T(0)) : high(value), low(T(0)) {}
    inline LazynpSum(T high, T low) : high(high), low(low) {}
    inline LazynpSum add(const T& value, const T& more) const {
        const T sum = high + value;
        const T added = sum - high;
        return {sum, more + ((high - (sum - added)) + (value - added))};
    }
    friend inline LazynpSum operator+(const LazynpSum& a, const LazynpSum& b) { return a.add(b.high, a.low + b.low); }
    template <class X> friend inline LazynpSum operator+(const LazynpSum& a, const X& x) { return a.add(T(x), a.low); }
    inline operator T() const { return lazynp_number<T>(high + low, high, 0); }
    template <class... A> inline void store(A... to) const { T(*this).store(to...); }
};
"""
