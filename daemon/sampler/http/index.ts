// Inference servers as back ends of an external sampler.

export { createHttpBackEnd } from './http.ts'
export { llamaServer } from './llama-server.ts'
export { createServer } from './server.ts'
export { sglang } from './sglang.ts'
export { createServerTeacher } from './teacher.ts'
export { vllm } from './vllm.ts'
