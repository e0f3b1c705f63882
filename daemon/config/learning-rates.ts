// What `training.learning_rate` is if nobody sets it: where all parameters are trained, for an adapter of the bundled model,
// and for one of another model. The first two were measured on the bundled model, the last on SmolLM2-135M.

export const LEARNING_RATES = { full: 1e-4, bundled: 1e-3, other: 3e-4 } as const
