/* NumPy's scalars to the left of our arrays, `np.float64(2) * a`.
 *
 * A NumPy scalar does not leave an operator to an operand that has `__array_ufunc__`: it makes an array of itself, calls
 * the ufunc, and that looks for overrides, which costs more than the operation. So the slots of NumPy's scalar types
 * leave it to ours: they give NotImplemented where the other operand is exactly an array of the door, and Python then
 * asks for its reflected operator, which calls the same ufunc, or compares the other way round. For all other operands they are NumPy's. */

#define SCALAR_TYPES(V)                                                                                                   \
    V(Double) V(Float) V(Half) V(CDouble) V(CFloat) V(Bool) V(Byte) V(Short) V(Int) V(Long) V(LongLong) V(UByte) V(UShort) \
    V(UInt) V(ULong) V(ULongLong)
#define SCALAR_OPERATORS(V, T)                                                                                           \
    V(T, nb_add) V(T, nb_subtract) V(T, nb_multiply) V(T, nb_true_divide) V(T, nb_floor_divide) V(T, nb_remainder)        \
    V(T, nb_lshift) V(T, nb_rshift) V(T, nb_and) V(T, nb_xor) V(T, nb_or)

#define LEAVES(T, OP)                                                                                                    \
    static PyObject *T##_##OP(PyObject *a, PyObject *b)                                                                  \
    {                                                                                                                    \
        if (Py_TYPE(b) == ndarray_type)                                                                                  \
            Py_RETURN_NOTIMPLEMENTED;                                                                                    \
        return T##_slots.OP(a, b);                                                                                       \
    }
#define LEAVES_ALL(T)                                                                                                    \
    static PyNumberMethods T##_slots; /* NumPy's */                                                                      \
    SCALAR_OPERATORS(LEAVES, T)                                                                                          \
    static PyObject *T##_nb_power(PyObject *a, PyObject *b, PyObject *modulo)                                            \
    {                                                                                                                    \
        if (Py_TYPE(b) == ndarray_type && modulo == Py_None)                                                             \
            Py_RETURN_NOTIMPLEMENTED;                                                                                    \
        return T##_slots.nb_power(a, b, modulo);                                                                         \
    }                                                                                                                    \
    static richcmpfunc T##_compare; /* NumPy's */                                                                        \
    static PyObject *T##_tp_richcompare(PyObject *a, PyObject *b, int op)                                                \
    {                                                                                                                    \
        if (Py_TYPE(b) == ndarray_type)                                                                                  \
            Py_RETURN_NOTIMPLEMENTED;                                                                                    \
        return T##_compare(a, b, op);                                                                                    \
    }
SCALAR_TYPES(LEAVES_ALL)

#define LEAVE(T, OP)                                                                                                     \
    if (T##_slots.OP)                                                                                                    \
        slots->OP = T##_##OP;
#define LEAVE_ALL(T)                                                                                                     \
    slots = Py##T##ArrType_Type.tp_as_number;                                                                            \
    T##_slots = *slots;                                                                                                  \
    SCALAR_OPERATORS(LEAVE, T)                                                                                           \
    LEAVE(T, nb_power)                                                                                                   \
    T##_compare = Py##T##ArrType_Type.tp_richcompare;                                                                    \
    Py##T##ArrType_Type.tp_richcompare = T##_tp_richcompare;

static void leave_to_arrays(void) /* once in a process */
{
    static int done;
    PyNumberMethods *slots;
    if (done++)
        return;
    SCALAR_TYPES(LEAVE_ALL)
}
