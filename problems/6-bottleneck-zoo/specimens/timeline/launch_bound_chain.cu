// x <- decay x + b, in place: the specimen once per launch, its twin TIMES times.
#ifdef SICK
constexpr int TIMES = 1;
#else
constexpr int TIMES = 600;
#endif

extern "C" __global__ void chain(float *x, const float *b, int words, float decay)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= words) return;
    const float added = b[at];
    float value = x[at];
#pragma unroll 1
    for (int time = 0; time < TIMES; ++time) value = value * decay + added;
    x[at] = value;
}
