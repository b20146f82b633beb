"""Booleans in memory, and lanes of vectors that are all ones or all zeros: the C++ that goes between the two.

torch's `VecMask` turns the two into one another through a buffer, lane by lane: `where` by a mask and the sum of its
columns takes 5.4 ns an element with it, 0.2 with what is below (one core with AVX-512, data in its cache). For elements
of 4 and 8 bytes both ways are a few instructions (AVX-512: one, and a test).
"""

from __future__ import annotations

import re

MASKS = r"""
#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
template <class T> static inline auto lazynp_bits(const at::vec::Vectorized<T>& v) {
#if defined(CPU_CAPABILITY_AVX512)
    if constexpr (std::is_same_v<T, float>) return _mm512_castps_si512(v);
    else if constexpr (std::is_same_v<T, double>) return _mm512_castpd_si512(v);
    else return static_cast<__m512i>(v);
#else
    if constexpr (std::is_same_v<T, float>) return _mm256_castps_si256(v);
    else if constexpr (std::is_same_v<T, double>) return _mm256_castpd_si256(v);
    else return static_cast<__m256i>(v);
#endif
}
template <class T, class B> static inline at::vec::Vectorized<T> lazynp_lanes(B bits) {
#if defined(CPU_CAPABILITY_AVX512)
    if constexpr (std::is_same_v<T, float>) return _mm512_castsi512_ps(bits);
    else if constexpr (std::is_same_v<T, double>) return _mm512_castsi512_pd(bits);
#else
    if constexpr (std::is_same_v<T, float>) return _mm256_castsi256_ps(bits);
    else if constexpr (std::is_same_v<T, double>) return _mm256_castsi256_pd(bits);
#endif
    else return at::vec::Vectorized<T>(bits);
}

// In the place of at::vec::VecMask<T, N>, for its `from`.
template <class T, int N> struct lazynp_mask {
    using Mask = at::vec::VecMask<T, N>;
    template <class... A> static inline Mask from(A... a) { return Mask::from(a...); }
    static inline Mask from(const bool* b, int64_t count) {
        if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
            if (count == Mask::size()) {
                constexpr int lanes = Mask::size() / N;
                at::vec::VectorizedN<T, N> v;
                for (int i = 0; i < N; ++i) {
                    __m128i bytes;
                    if constexpr (lanes == 16) {
                        bytes = _mm_loadu_si128((const __m128i*)(b + i * lanes));
                    } else if constexpr (lanes == 8) {
                        bytes = _mm_loadl_epi64((const __m128i*)(b + i * lanes));
                    } else {
                        int four;
                        std::memcpy(&four, b + i * lanes, 4);
                        bytes = _mm_cvtsi32_si128(four);
                    }
#if defined(CPU_CAPABILITY_AVX512)
                    const __mmask16 k = _mm_test_epi8_mask(bytes, bytes);
                    if constexpr (sizeof(T) == 4) v[i] = lazynp_lanes<T>(_mm512_movm_epi32(k));
                    else v[i] = lazynp_lanes<T>(_mm512_movm_epi64((__mmask8)k));
#else
                    const __m256i zero = _mm256_setzero_si256();
                    if constexpr (sizeof(T) == 4)
                        v[i] = lazynp_lanes<T>(_mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(bytes), zero));
                    else
                        v[i] = lazynp_lanes<T>(_mm256_cmpgt_epi64(_mm256_cvtepu8_epi64(bytes), zero));
#endif
                }
                return Mask(v);
            }
        }
        return Mask::from(b, (int)count);
    }
};

template <class V, class... A> static inline void lazynp_store(V v, A... a) { v.store(a...); }
template <class T, int N> static inline void lazynp_store(at::vec::VecMask<T, N> v, bool* b, int64_t count) {
    constexpr int size = at::vec::VecMask<T, N>::size();
    if constexpr ((sizeof(T) == 4 || sizeof(T) == 8) && (size == 8 || size == 16) && N <= 2) {
        if (count == size) {
#if defined(CPU_CAPABILITY_AVX512)
            uint32_t k = 0;
            for (int i = 0; i < N; ++i) {
                const __m512i bits = lazynp_bits(v[i]);
                if constexpr (sizeof(T) == 4) k |= (uint32_t)_mm512_test_epi32_mask(bits, bits) << (16 * i);
                else k |= (uint32_t)_mm512_test_epi64_mask(bits, bits) << (8 * i);
            }
            const __m128i bytes = _mm_maskz_set1_epi8((__mmask16)k, 1);
            if constexpr (size == 16) _mm_storeu_si128((__m128i*)b, bytes);
            else _mm_storel_epi64((__m128i*)b, bytes);
            return;
#else
            if constexpr (size == 8) {
                __m256i bits = lazynp_bits(v[0]);
                if constexpr (sizeof(T) == 8)  // the lower halves of both, in order
                    bits = _mm256_permute4x64_epi64(
                        _mm256_castps_si256(_mm256_shuffle_ps(
                            _mm256_castsi256_ps(bits), _mm256_castsi256_ps(lazynp_bits(v[N - 1])), 0x88)), 0xD8);
                const __m128i low = _mm256_castsi256_si128(bits), high = _mm256_extracti128_si256(bits, 1);
                const __m128i words = _mm_packs_epi32(low, high);
                const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
                _mm_storel_epi64((__m128i*)b, bytes);
                return;
            }
#endif
        }
    }
    v.store(b, (int)count);
}
#endif
"""
_FROM = re.compile(r"\bat::vec::VecMask<([^<>]*)>::from\(")
_STORE = re.compile(r"^(\s*)(\w+)\.store\((.*\);)$", re.MULTILINE)


def masked(source: str) -> str:
    """One of Inductor's kernels, its masks loaded and stored as above."""
    source = _FROM.sub(r"lazynp_mask<\1>::from(", source)
    return _STORE.sub(r"\1lazynp_store(\2, \3", source) if re.search(r"\bbool\* \w*out_ptr", source) else source
