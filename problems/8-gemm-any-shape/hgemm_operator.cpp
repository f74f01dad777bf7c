// The operator worklogs::hgemm: a product whose launches are known never enters Python.
//
// A product is known by its key: device, stream, type, sizes, strides, and where addresses lie
// within 16 bytes, which decides the plan. What Python binds for a key once is kept as a record:
// the arguments of its launches, and slots, the places in them that hold an operand's address.
// A call rewrites the slots whose operand has moved and launches.
//
// Of CUDA it takes four functions of the driver and torch's current stream, by their addresses, so
// torch's headers are enough to compile it, on machines without CUDA as well.

#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using at::Tensor;
namespace py = pybind11;

constexpr uintptr_t TMA_BYTES = 16;  // what addresses that TMA takes are multiples of

// The driver's functions, and torch's; their structures are Python's to fill.
struct Functions {
  int (*launch)(const void* config, void* function, void** parameters, void** extra) = nullptr;
  int (*replace_address)(void* tensor_map, void* address) = nullptr;
  int (*error_string)(int status, const char** text) = nullptr;
  int (*current_context)(void** context) = nullptr;
  int32_t (*current_stream)(int32_t device, void** stream) = nullptr;
};

struct Launch {
  void* config;
  void* function;
  void** parameters;
};

// Memory of an argument that begins with the address of A (0), B (1) or C (2): a pointer, or a
// tensor map, whose layout is the driver's own.
struct Slot {
  size_t operand;
  bool in_map;
  void* memory;
  uintptr_t address = 0;  // what was written there
};

// Without launches torch.mm computes the product: the GPU is none that the kernels are built for.
struct Record {
  std::vector<Launch> launches;
  std::vector<Slot> slots;
  PyObject* kept = nullptr;  // owns all memory that launches and slots point to
  std::mutex* launching = nullptr;  // of its stream; who writes slots and launches holds it
  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() {
    py::gil_scoped_acquire gil;
    Py_XDECREF(kept);
  }
};

using Key = std::array<int64_t, 11>;

struct Hash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 0;
    for (int64_t value : key) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

using Records = std::unordered_map<Key, std::shared_ptr<Record>, Hash>;

// One for the process, never destroyed: records own Python's objects, and Python ends first.
struct State {
  Functions functions;
  PyObject* bind = nullptr;
  PyObject* enter_context = nullptr;
  size_t most = 0;
  Records records;
  // By device and stream. Launches of one product stay together, as products of a stream share a
  // workspace; a launch waits while its queue is full, and must hold up no other stream meanwhile.
  std::map<std::pair<int64_t, int64_t>, std::mutex> streams;
  std::mutex mutex;  // of both tables; who holds it waits neither for the driver nor for the
                     // interpreter, which one who waits for it may hold
};

State& state() {
  static auto* only = new State;
  return *only;
}

void check(int status, const char* name) {
  if (status == 0) return;
  const char* text = nullptr;
  state().functions.error_string(status, &text);
  TORCH_CHECK(false, name, ": error ", status, ", ", text ? text : "unknown error");
}

// Returns whether a matrix has contiguous rows or columns: `order` of multiplier.py tells which.
bool has_order(const Tensor& matrix) {
  const auto rows = matrix.size(0), columns = matrix.size(1);
  const auto down = matrix.stride(0), across = matrix.stride(1);
  if (columns == 1 && down == 1 && rows > 1) return true;
  if (across == 1 || columns == 1) return rows == 1 || down >= columns;
  return (down == 1 || rows == 1) && across >= rows;
}

// Launches what a record holds, on the stream of its key; that stream's mutex is held.
void launch(Record& record, const std::array<uintptr_t, 3>& addresses) {
  const auto& functions = state().functions;
  for (auto& slot : record.slots) {
    const auto address = addresses[slot.operand];
    if (slot.address == address) continue;
    if (slot.in_map) {
      check(functions.replace_address(slot.memory, reinterpret_cast<void*>(address)),
            "cuTensorMapReplaceAddress");
    } else {
      *static_cast<uintptr_t*>(slot.memory) = address;
    }
    slot.address = address;
  }
  for (const auto& each : record.launches) {
    check(functions.launch(each.config, each.function, each.parameters, nullptr),
          "cuLaunchKernelEx");
  }
}

// Returns what Python binds, or a record without launches where it returns None.
std::shared_ptr<Record> bound(const Tensor& a, const Tensor& b, const Tensor& c, void* stream) {
  const py::gil_scoped_acquire gil;
  auto record = std::make_shared<Record>();
  const auto bind = py::reinterpret_borrow<py::object>(state().bind);
  py::object found = bind(a, b, c, reinterpret_cast<uintptr_t>(stream));
  if (found.is_none()) return record;
  const auto pointer = [](const py::handle& value) {
    return reinterpret_cast<void*>(value.cast<uintptr_t>());
  };
  for (const py::handle each : found.attr("launches")) {
    const auto values = each.cast<py::tuple>();
    const auto parameters = static_cast<void**>(pointer(values[2]));
    record->launches.push_back({pointer(values[0]), pointer(values[1]), parameters});
  }
  for (const py::handle each : found.attr("slots")) {
    const auto values = each.cast<py::tuple>();
    record->slots.push_back({values[0].cast<size_t>(), values[1].cast<bool>(), pointer(values[2])});
  }
  record->kept = found.release().ptr();
  return record;
}

// Returns the record of a key, or null.
std::shared_ptr<Record> known(const Key& key) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().records.find(key);
  return found == state().records.end() ? nullptr : found->second;
}

// Keeps a record, and returns what is kept for its key: perhaps another thread was first.
std::shared_ptr<Record> keep(const Key& key, const std::shared_ptr<Record>& made) {
  Records dropped;  // destroyed after the mutex is free: that takes the interpreter
  const std::lock_guard<std::mutex> lock(state().mutex);
  auto& records = state().records;
  made->launching = &state().streams[{key[0], key[1]}];
  if (records.size() >= state().most) records.swap(dropped);
  return records.try_emplace(key, made).first->second;
}

// Computes C by the kernels; returns false, and computes nothing, where they are not for this GPU.
bool computed(const Tensor& a, const Tensor& b, const Tensor& c, void* stream) {
  std::array<uintptr_t, 3> addresses;
  size_t at = 0, within = 0;
  for (const Tensor* operand : {&a, &b, &c}) {
    addresses[at] = reinterpret_cast<uintptr_t>(operand->const_data_ptr());
    within = within * TMA_BYTES + addresses[at++] % TMA_BYTES;
  }
  const Key key{a.device().index(), reinterpret_cast<int64_t>(stream),
                static_cast<int64_t>(a.scalar_type()), static_cast<int64_t>(within),
                a.size(0), a.size(1), b.size(1),
                a.stride(0), a.stride(1), b.stride(0), b.stride(1)};
  auto record = known(key);
  if (!record) record = keep(key, bound(a, b, c, stream));
  if (record->launches.empty()) return false;
  const std::lock_guard<std::mutex> lock(*record->launching);
  launch(*record, addresses);
  return true;
}

// Autograd's threads begin without a context, and the driver's functions need one.
void enter_context(const at::Device& device) {
  void* context = nullptr;
  check(state().functions.current_context(&context), "cuCtxGetCurrent");
  if (context != nullptr) return;
  const py::gil_scoped_acquire gil;
  py::reinterpret_borrow<py::object>(state().enter_context)(static_cast<int>(device.index()));
}

// Returns A @ B of two matrices that `computes` accepts, or that are on a CPU in tests.
Tensor multiplied(const Tensor& first, const Tensor& second) {
  const Tensor a = has_order(first) ? first : first.contiguous();
  const Tensor b = has_order(second) ? second : second.contiguous();
  const c10::DeviceGuard guard(a.device());
  Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  enter_context(a.device());
  void* stream = nullptr;
  TORCH_CHECK(state().functions.current_stream(a.device().index(), &stream) == 0,
              "hgemm: no current stream");
  if (!computed(a, b, c, stream)) at::mm_out(c, a, b);
  return c;
}

// Returns whether these are the sizes of a product, none empty: the kernels take them as C's int.
bool has_sizes(const Tensor& a, const Tensor& b) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  return a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0) && a.numel() > 0 &&
         b.numel() > 0 && a.size(0) <= most && a.size(1) <= most && b.size(1) <= most;
}

// Returns whether the operands are the kernels', as `computes` of multiplier.py does; whether the
// GPU is, Python says when it binds.
bool computes(const Tensor& a, const Tensor& b) {
  const auto type = a.scalar_type();
  return a.is_cuda() && a.device() == b.device() && type == b.scalar_type() &&
         (type == at::kBFloat16 || type == at::kHalf) && has_sizes(a, b) &&
         state().functions.launch != nullptr;
}

Tensor by_kernels(const Tensor& a, const Tensor& b) {
  return computes(a, b) ? multiplied(a, b) : at::mm(a, b);
}

Tensor by_library(const Tensor& a, const Tensor& b) { return at::mm(a, b); }

const auto& hgemm() {
  static const auto found = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("worklogs::hgemm", "")
                                .typed<Tensor(const Tensor&, const Tensor&)>();
  return found;
}

// The gradients are products of the same operator: C' @ B^T and A^T @ C'.
struct Product : torch::autograd::Function<Product> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a,
                        const Tensor& b) {
    context->save_for_backward({a, b});
    const at::AutoDispatchBelowADInplaceOrView guard;
    return hgemm().call(a, b);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto& of_c = gradients[0];
    return {context->needs_input_grad(0) ? hgemm().call(of_c, saved[1].t()) : Tensor(),
            context->needs_input_grad(1) ? hgemm().call(saved[0].t(), of_c) : Tensor()};
  }
};

// Whether a transform sees this operand: it has a forward gradient or is a wrapper of torch.func's.
bool is_transformed(const Tensor& operand) {
  using c10::DispatchKey;
  const c10::DispatchKeySet wrappers{DispatchKey::FuncTorchGradWrapper,
                                     DispatchKey::FuncTorchBatched};
  return operand.key_set().has_any(wrappers) || operand._fw_grad(0).defined();
}

Tensor with_gradients(c10::DispatchKeySet keys, const Tensor& a, const Tensor& b) {
  // `Product` knows reverse gradients alone, torch.mm all derivatives; without it a tangent would
  // be lost silently.
  if (is_transformed(a) || is_transformed(b)) return at::mm(a, b);
  if (at::GradMode::is_enabled() && (a.requires_grad() || b.requires_grad())) {
    return Product::apply(a, b);
  }
  return hgemm().redispatch(keys & c10::after_autograd_keyset, a, b);
}

// Casts both operands to autocast's type, as torch.mm does there.
template <c10::DeviceType device>
Tensor with_autocast(const Tensor& a, const Tensor& b) {
  const c10::impl::ExcludeDispatchKeyGuard guard(
      at::autocast::get_autocast_dispatch_key_from_device_type(device));
  const auto type = at::autocast::get_autocast_dtype(device);
  return hgemm().call(at::autocast::cached_cast(type, a, device),
                      at::autocast::cached_cast(type, b, device));
}

// hgemm(a, b) without what torch.ops spends on finding an overload and on a stack of its arguments.
PyObject* called(PyObject* /*module*/, PyObject* const* given, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(count == 2 && THPVariable_Check(given[0]) && THPVariable_Check(given[1]),
                   "hgemm takes two tensors");
  Tensor c;
  {
    const py::gil_scoped_release no_gil;
    c = hgemm().call(THPVariable_Unpack(given[0]), THPVariable_Unpack(given[1]));
  }
  return THPVariable_Wrap(std::move(c));
  END_HANDLE_TH_ERRORS
}

// Takes the functions' addresses in the order of `Functions`, what binds a product and what enters
// a device's context, and how many records are kept at most.
void connect(const std::array<uintptr_t, 5>& addresses, const py::object& bind,
             const py::object& enter, size_t most) {
  auto& now = state();
  std::memcpy(static_cast<void*>(&now.functions), addresses.data(), sizeof(now.functions));
  now.bind = py::object(bind).release().ptr();
  now.enter_context = py::object(enter).release().ptr();
  now.most = most;
}

PyMethodDef methods[] = {
    {"hgemm", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(called)), METH_FASTCALL,
     "Return A @ B."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

TORCH_LIBRARY_FRAGMENT(worklogs, library) {
  library.def("hgemm(Tensor a, Tensor b) -> Tensor", {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(worklogs, CompositeExplicitAutograd, library) {
  library.impl("hgemm", by_library);
}

TORCH_LIBRARY_IMPL(worklogs, CUDA, library) { library.impl("hgemm", by_kernels); }

TORCH_LIBRARY_IMPL(worklogs, Autograd, library) { library.impl("hgemm", with_gradients); }

TORCH_LIBRARY_IMPL(worklogs, FuncTorchBatched, library) { library.impl("hgemm", by_library); }

TORCH_LIBRARY_IMPL(worklogs, AutocastCPU, library) {
  library.impl("hgemm", with_autocast<c10::kCPU>);
}

TORCH_LIBRARY_IMPL(worklogs, AutocastCUDA, library) {
  library.impl("hgemm", with_autocast<c10::kCUDA>);
}

PYBIND11_MODULE(hgemm_operator, module) {
  module.def("connect", &connect);
  module.def("multiplied", &multiplied, py::call_guard<py::gil_scoped_release>());
  module.def("has_sizes", &has_sizes);
  module.def("records", [] { return state().records.size(); });
  PyModule_AddFunctions(module.ptr(), methods);
}
