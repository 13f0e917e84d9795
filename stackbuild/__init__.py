"""stackbuild: builds, verifies, benchmarks and publishes ROCm ONNX Runtime stacks from one recipe."""
