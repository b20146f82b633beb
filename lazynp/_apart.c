/* Programs that are started without ever sharing the open files of the process that starts them.

Between fork and exec a new process has a copy of all descriptors, and with them the locks of files (flock): a program
that closes a file and opens it again in that moment, as HDF5's users do, is told that somebody holds it. vfork and
posix_spawn do the same. Here the new process shares the table of descriptors itself, so that nothing is held twice,
until it takes one of its own that has nothing but the standard ones. Linux 5.9; elsewhere `start` refuses. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(SYS_close_range) && !defined(CLOSE_RANGE_UNSHARE)
#define CLOSE_RANGE_UNSHARE 2
#endif
#endif

#if defined(CLOSE_RANGE_UNSHARE)
#define STACK 65536

typedef struct {
    const char *path, *log;
    char **arguments, **environment;
    sigset_t mask;
    int error; /* the memory is shared: what went wrong */
} Start;

/* The new process, in the memory of the old one, whose thread waits: nothing but calls of the system. */
static int begin(void *given)
{
    Start *start = given;
    struct sigaction action;
    for (int number = 1; number < NSIG; number++) { /* Python's handlers would run here, and are not ours to run */
        if (sigaction(number, NULL, &action) == 0
            && (action.sa_handler != SIG_IGN || number == SIGPIPE || number == SIGXFSZ)) {
            action.sa_handler = SIG_DFL;
            action.sa_flags = 0;
            sigaction(number, &action, NULL);
        }
    }
    if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE) == 0 && setpgid(0, 0) == 0) {
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        int log = open(start->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (nothing >= 0 && log >= 0) {
            /* Where one of the standard ones was closed, what was opened may be it: dup2 would leave it to be closed. */
            int at_nothing = fcntl(nothing, F_DUPFD_CLOEXEC, 3), at_log = fcntl(log, F_DUPFD_CLOEXEC, 3);
            if (at_nothing >= 0 && at_log >= 0 && dup2(at_nothing, 0) >= 0 && dup2(at_nothing, 1) >= 0
                && dup2(at_log, 2) >= 0 && sigprocmask(SIG_SETMASK, &start->mask, NULL) == 0) {
                execve(start->path, start->arguments, start->environment);
            }
        }
    }
    start->error = errno;
    _exit(127);
}

static int run(Start *start)
{
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        start->error = errno;
        return -1;
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &start->mask);
    int pid = clone(begin, (char *)stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, start);
    if (pid < 0) {
        start->error = errno;
    }
    pthread_sigmask(SIG_SETMASK, &start->mask, NULL);
    munmap(stack, STACK);
    return pid;
}

static char **texts(PyObject *sequence)
{
    Py_ssize_t n = PyTuple_GET_SIZE(sequence);
    char **all = PyMem_Calloc((size_t)n + 1, sizeof(char *));
    if (all == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(sequence, i), &all[i], NULL) < 0) {
            PyMem_Free(all);
            return NULL;
        }
    }
    return all;
}

static PyObject *start(PyObject *module, PyObject *args)
{
    Start start = {0};
    PyObject *arguments, *environment;
    if (!PyArg_ParseTuple(args, "yO!O!y:start", &start.path, &PyTuple_Type, &arguments, &PyTuple_Type, &environment,
                          &start.log)) {
        return NULL;
    }
    start.arguments = texts(arguments);
    start.environment = start.arguments != NULL ? texts(environment) : NULL;
    int pid = -1;
    if (start.environment != NULL) {
        Py_BEGIN_ALLOW_THREADS
        pid = run(&start);
        if (pid >= 0 && start.error != 0) {
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(start.arguments);
    PyMem_Free(start.environment);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (start.error != 0) {
        errno = start.error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyLong_FromLong(pid);
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS,
     "start(path, arguments, environment, log): the number of a process that runs a program, in a process group of its "
     "own, with nothing open but a file of this name for what it says. Raises OSError."},
    {NULL},
};
#else
static PyMethodDef methods[] = {{NULL}};
#endif

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lazynp._apart", NULL, 0, methods};

PyMODINIT_FUNC PyInit__apart(void)
{
    return PyModuleDef_Init(&definition);
}
