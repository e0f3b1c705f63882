// Every bound on what may come off the wire, in one place, each with its reason. A sender that keeps them is never
// refused for size; a receiver checks each one before it spends more than a constant on the message.

import { MAX_COMPLETION_CHARS } from '../train/index.ts'

/** Bytes of a frame that travels by gossip. 64 KiB: one costs 6 ms of CPU over a swarm, 256 KiB costs 20. */
export const MAX_GOSSIP_BYTES = 65_536

/** Bytes of a frame that is fetched over a stream. Sixteen of the largest gossip frames. */
export const MAX_FETCHED_BYTES = 1_048_576

/** Containers inside one another. The schema needs 4; the rest is room for later minor versions. */
export const MAX_DEPTH = 8

/** Data items (numbers, strings, containers) in one body: about 8 a segment at most, and far fewer bytes than items. */
export const MAX_ITEMS = 16_384

/** Rollouts in a group. SAPO uses 8, DAPO 16, the largest in use is 64. */
export const MAX_ROLLOUTS = 64

/** A group of one teaches a group-relative estimator nothing. */
export const MIN_ROLLOUTS = 2

/** UTF-16 units of one completion: what a verifier looks at. */
export const MAX_TEXT_CHARS = MAX_COMPLETION_CHARS

/** Tokens of one completion: no token is shorter than one UTF-8 byte except end-of-sequence and its like. */
export const MAX_TOKENS = 65_536

/** Token ids are below this. The largest vocabularies in use are near 2^18. */
export const MAX_TOKEN_ID = 1 << 20

/** Segments of one completion: what a policy wrote that was renewed more often meanwhile is told more coarsely. */
export const MAX_SEGMENTS = 64

/** Log-probs below this are written as this. exp(-64) is 1.6e-28: no sampler draws such a token. */
export const MIN_LOGPROB = -64

/** Absolute value of a difficulty; tasks use one or two digits. */
export const MAX_DIFFICULTY = 1_000_000

/** The seed of a prompt is an unsigned 32-bit number. */
export const MAX_SEED = 0xffff_ffff

export const TASK_NAME = /^[a-z][a-z0-9_]{0,63}$/
export const ARM_NAME = /^[a-z][a-z0-9_.-]{0,63}$/
