// CUDA's driver and torch's current stream, played: launches are written down. A function's handle
// is the number of its parameters.

#include <sched.h>

#include <cstdint>
#include <cstring>
#include <vector>

struct Launched {
  uint64_t function, stream, parameters[16];
};

static std::vector<Launched> launches;
static uint64_t stream = 0;
static int failing = 0, replaced = 0;
static thread_local void* context = nullptr;

extern "C" {
int cuLaunchKernelEx(const void* config, void* function, void** parameters, void**) {
  if (failing) return failing;
  Launched one{};
  one.function = reinterpret_cast<uint64_t>(function);
  std::memcpy(&one.stream, static_cast<const char*>(config) + 32, 8);
  for (uint64_t i = 0; i < one.function; ++i) {
    std::memcpy(&one.parameters[i], parameters[i], 8);
    sched_yield();  // another thread that may write does it now
  }
  launches.push_back(one);
  return 0;
}

int cuTensorMapReplaceAddress(void* map, void* address) {
  ++replaced;
  std::memcpy(map, &address, 8);
  return failing;
}

int cuGetErrorString(int, const char** text) {
  *text = "played";
  return 0;
}

int cuCtxGetCurrent(void** current) {
  *current = context;
  return 0;
}

int32_t aoti_torch_get_current_cuda_stream(int32_t, void** current) {
  *current = reinterpret_cast<void*>(stream);
  return 0;
}

void play(uint64_t on, int status) {
  stream = on;
  failing = status;
  replaced = 0;
  launches.clear();
}

void enter() { context = &launches; }
int replacements() { return replaced; }
int launched() { return static_cast<int>(launches.size()); }
const Launched* launch(int at) { return &launches[at]; }
}
