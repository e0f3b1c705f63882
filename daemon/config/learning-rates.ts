// What `training.learning_rate` is if nobody sets it: where all parameters of the bundled model are trained, for its
// adapter, and for that of another model, as measured on SmolLM2-135M, which is a hundred times as large.

export const LEARNING_RATES = { full: 1e-4, bundled: 1e-3, other: 3e-4 } as const
