/* The part of MPI that comm/mpi/plugin calls, with the handles and constants of the ABI that the MPI 5.0 standard
 * defines (June 2025, chapter "Application Binary Interface"). MPICH 5, Intel MPI 2021.19 and Open MPI 6 have it in
 * libmpi_abi.so.1. Written for ferry from the standard, because few systems have that header; see comm/mpi/plugin.hpp.
 * The predefined error handlers are left out: MPICH 5.0.2 and Intel MPI 2021.19 number them differently. */
#ifndef FERRY_STANDARD_MPI_H
#define FERRY_STANDARD_MPI_H

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Request* MPI_Request;

typedef struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void*, void*, void*, int*);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void*, void*);
typedef void MPI_Comm_errhandler_function(MPI_Comm*, int*, ...);

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_TRUNCATE = 15,
  MPI_UNDEFINED = -32766,
  MPI_KEYVAL_INVALID = 0,
  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_FUNNELED = 1024,
  MPI_COMM_TYPE_SHARED = 221,
  MPI_TAG_UB = 501,
  MPI_MAX_OBJECT_NAME = 128,
  MPI_MAX_ERROR_STRING = 512,
  MPI_MAX_LIBRARY_VERSION_STRING = 8192
};

int MPI_Abort(MPI_Comm, int);
int MPI_Cancel(MPI_Request*);
int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function*, MPI_Errhandler*);
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*, void*);
int MPI_Comm_free(MPI_Comm*);
int MPI_Comm_get_attr(MPI_Comm, int, void*, int*);
int MPI_Comm_get_name(MPI_Comm, char*, int*);
int MPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request*);
int MPI_Comm_rank(MPI_Comm, int*);
int MPI_Comm_remote_size(MPI_Comm, int*);
int MPI_Comm_set_attr(MPI_Comm, int, void*);
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
int MPI_Comm_set_name(MPI_Comm, const char*);
int MPI_Comm_size(MPI_Comm, int*);
int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm*);
int MPI_Comm_test_inter(MPI_Comm, int*);
int MPI_Errhandler_free(MPI_Errhandler*);
int MPI_Error_class(int, int*);
int MPI_Error_string(int, char*, int*);
int MPI_Finalize(void);
int MPI_Finalized(int*);
int MPI_Get_count(const MPI_Status*, MPI_Datatype, int*);
int MPI_Get_library_version(char*, int*);
int MPI_Init_thread(int*, char***, int, int*);
int MPI_Initialized(int*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Test(MPI_Request*, int*, MPI_Status*);
int MPI_Testall(int, MPI_Request[], int*, MPI_Status[]);
int MPI_Testsome(int, MPI_Request[], int*, int[], MPI_Status[]);
int MPI_Wait(MPI_Request*, MPI_Status*);

#ifdef __cplusplus
}
#endif

#endif
