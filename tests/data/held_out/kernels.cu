#include "kh.h"
std::vector<void*> g_bufs;
const char* g_only = nullptr;
void run_mem();
void run_par();
void run_cmp();
int main(int c, char** v) {
  if (c > 1) g_only = v[1];
  run_mem();
  run_par();
  run_cmp();
  printf("done\n");
  return 0;
}
