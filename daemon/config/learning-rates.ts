// What `training.learning_rate` is if nobody sets it. That of an adapter was measured on SmolLM2-135M, the others on the
// bundled model, which is a hundredth as large (docs/results).

export const LEARNING_RATES = { full: 1e-4, lora: 3e-4, bundled: 1e-3 } as const
