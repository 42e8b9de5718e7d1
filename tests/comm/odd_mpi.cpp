// A library that has the names of MPI, and an ABI that ferry does not know.
extern "C" {
int PMPI_Init_thread(int*, char***, int, int*);
int MPI_Get_library_version(char* text, int* length);

int PMPI_Init_thread(int*, char***, int, int*) {
  return 1;
}

int MPI_Get_library_version(char* text, int* length) {
  for (const char c : "Odd MPI 1.0") text[(*length)++] = c;
  return 0;
}
}
