// One configuration of CUTLASS's product for Hopper, behind a C interface.
//
// Macros: TILE_M, TILE_N, TILE_K; CLUSTER_M, CLUSTER_N; PINGPONG (else cooperative consumers);
// STREAM_K (else whole tiles); ELEMENT; LAYOUT_A and LAYOUT_B: RowMajor or ColumnMajor.
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"

using cute::Int;
using Element = cutlass::ELEMENT;
using LayoutA = cutlass::layout::LAYOUT_A;
using LayoutB = cutlass::layout::LAYOUT_B;
using LayoutC = cutlass::layout::RowMajor;
constexpr int kAligned = 8;  // elements: 16 bytes, which TMA reads rows by
#ifdef CUTLASS_ENABLE_GDC_FOR_SM90
constexpr bool kDependent = true;  // the kernel waits for the one before it, and lets one begin
#else
constexpr bool kDependent = false;
#endif

using Block = cute::Shape<Int<TILE_M>, Int<TILE_N>, Int<TILE_K>>;
using Cluster = cute::Shape<Int<CLUSTER_M>, Int<CLUSTER_N>, Int<1>>;
using Mainloop = std::conditional_t<PINGPONG, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                                    cutlass::gemm::KernelTmaWarpSpecializedCooperative>;
using Store = std::conditional_t<PINGPONG, cutlass::epilogue::TmaWarpSpecialized,
                                 cutlass::epilogue::TmaWarpSpecializedCooperative>;
using Scheduler = std::conditional_t<STREAM_K, cutlass::gemm::StreamKScheduler,
                                     cutlass::gemm::PersistentScheduler>;

using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Block, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, LayoutC, kAligned, Element,
    LayoutC, kAligned, Store>::CollectiveOp;
using Loop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, LayoutA, kAligned, Element,
    LayoutB, kAligned, float, Block, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
        sizeof(typename Epilogue::SharedStorage))>,
    Mainloop>::CollectiveOp;
using Kernel =
    cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Loop, Epilogue, Scheduler>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

// A matrix's stride of rows and columns as CUTLASS takes them: one of them is 1.
template <class Stride>
Stride stride_of(int64_t leading) {
  Stride stride{};
  if constexpr (cute::is_static_v<std::remove_reference_t<decltype(cute::get<0>(stride))>>) {
    cute::get<1>(stride) = leading;
  } else {
    cute::get<0>(stride) = leading;
  }
  return stride;
}

template <class Layout>
int64_t leading(int rows, int columns) {
  return std::is_same_v<Layout, cutlass::layout::RowMajor> ? columns : rows;
}

Gemm::Arguments arguments(const void* a, const void* b, void* c, int m, int n, int k, int swizzle) {
  Gemm::Arguments told{cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k, 1}};
  told.mainloop = {static_cast<const Element*>(a),
                   stride_of<typename Kernel::StrideA>(leading<LayoutA>(m, k)),
                   static_cast<const Element*>(b),
                   stride_of<typename Kernel::StrideB>(leading<LayoutB>(k, n))};
  told.epilogue = {{1.0f, 0.0f},
                   nullptr,
                   stride_of<typename Kernel::StrideC>(n),
                   static_cast<Element*>(c),
                   stride_of<typename Kernel::StrideD>(n)};
  told.hw_info.sm_count =
      cutlass::KernelHardwareInfo::query_device_multiprocessor_count(told.hw_info.device_id);
  told.scheduler.max_swizzle_size = swizzle;
  return told;
}

extern "C" size_t workspace_bytes(int m, int n, int k, int swizzle) {
  return Gemm::get_workspace_size(arguments(nullptr, nullptr, nullptr, m, n, k, swizzle));
}

struct Product {
  Gemm gemm;
  Gemm::Arguments told;
  void* workspace;
};

// Returns a product bound to its operands and a workspace of its own; null if CUTLASS refuses it.
extern "C" Product* bind_product(const void* a, const void* b, void* c, int m, int n, int k, int swizzle,
                      void* workspace, cudaStream_t stream) {
  const Gemm::Arguments told = arguments(a, b, c, m, n, k, swizzle);
  auto* product = new Product{Gemm{}, told, workspace};
  if (Gemm::can_implement(told) == cutlass::Status::kSuccess &&
      product->gemm.initialize(told, workspace, stream) == cutlass::Status::kSuccess) {
    return product;
  }
  delete product;
  return nullptr;
}

// Launches a bound product, as a dependent launch if it can be; returns 0, or CUTLASS's status.
// Stream-K's barriers have to be zero before each launch, and a launch leaves them otherwise.
extern "C" int run_product(Product* product, cudaStream_t stream) {
  if (Gemm::get_workspace_size(product->told) > 0) {
    const auto status = Kernel::initialize_workspace(product->told, product->workspace, stream);
    if (status != cutlass::Status::kSuccess) return static_cast<int>(status);
  }
  return static_cast<int>(product->gemm.run(stream, nullptr, kDependent));
}
