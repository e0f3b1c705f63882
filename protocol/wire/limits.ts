// All limits on incoming messages, each with its reason. A sender that keeps to them is never refused for size. A
// receiver checks each limit before it does more than constant work on the message.

import { MAX_COMPLETION_CHARS } from '../train/index.ts'

/** Bytes of a gossip frame. At 64 KiB, one costs 6 ms of CPU over a whole swarm; at 256 KiB, 20 ms. */
export const MAX_GOSSIP_BYTES = 65_536

/** Bytes of a frame fetched over a stream: sixteen times the largest gossip frame. */
export const MAX_FETCHED_BYTES = 1_048_576

/** Nested containers. The schema needs 4; the rest is room for later minor versions. */
export const MAX_DEPTH = 8

/** Data items (numbers, strings, containers) per body: at most about 8 per segment, and far fewer than bytes. */
export const MAX_ITEMS = 16_384

/** Rollouts per group. SAPO uses 8, DAPO 16; the largest in use is 64. */
export const MAX_ROLLOUTS = 64

/** A group-relative estimator learns nothing from a group of one. */
export const MIN_ROLLOUTS = 2

/** UTF-16 units of one completion that a verifier reads. */
export const MAX_TEXT_CHARS = MAX_COMPLETION_CHARS

/** Tokens of one completion: apart from special tokens such as end-of-sequence, each has at least one UTF-8 byte. */
export const MAX_TOKENS = 65_536

/** Token ids are below this. The largest vocabularies in use are near 2^18. */
export const MAX_TOKEN_ID = 1 << 20

/** Segments of one completion. If the policy changed more often during generation, segments are merged. */
export const MAX_SEGMENTS = 64

/** Smaller log-probs are clamped to this. exp(-64) is 1.6e-28; no sampler draws such a token. */
export const MIN_LOGPROB = -64

/** Absolute value of a difficulty; tasks use one or two digits. */
export const MAX_DIFFICULTY = 1_000_000

/** The seed of a prompt is an unsigned 32-bit number. */
export const MAX_SEED = 0xffff_ffff

export const TASK_NAME = /^[a-z][a-z0-9_]{0,63}$/
export const ARM_NAME = /^[a-z][a-z0-9_.-]{0,63}$/
