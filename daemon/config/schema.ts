// The config's one schema: types, defaults, checks and the reference page all come from here. What a key does is said
// in its description. Not read by commands that must be fast: zod takes 50 ms to load.

import { z } from 'zod'
import { PRESET_NAMES, PRESETS } from './presets.ts'

const TASK_NAME = /^[a-z][a-z0-9_]{0,63}$/

export const plugin = z
  .looseObject({
    use: z.string().min(1).describe('a built-in plugin by name, an npm package, or a path to a file'),
  })
  .describe('a plugin and its own settings')

const node = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('what this node calls itself; if unset, a name made from its peer ID'),
  seed: z
    .int()
    .min(0)
    .max(0xffff_ffff)
    .optional()
    .describe('where all random numbers start; if unset, made from the identity, so that two nodes differ'),
})

const model = z.strictObject({
  path: z
    .string()
    .min(1)
    .default('default')
    .describe(
      'folder with config.json, model.safetensors and tokenizer.json, or a name on the hub: org/name or org/name@revision; "default" is the one that comes along',
    ),
  max_completion_tokens: z
    .int()
    .min(1)
    .max(32_768)
    .default(96)
    .describe('a completion is cut off after this many tokens'),
})

const engine = z.strictObject({
  kind: z.enum(['onnx', 'tfjs']).default('onnx').describe('which engine samples and trains'),
  device: z
    .enum(['auto', 'cpu', 'webgpu', 'cuda', 'dml', 'coreml'])
    .default('auto')
    .describe('where it runs; "auto" takes the fastest that works and says why'),
  precision: z
    .enum(['auto', 'float32', 'float16'])
    .default('float32')
    .describe(
      'of matrix products in training; float16 where the device has it, "auto" where it is faster there, too',
    ),
  threads: z.int().min(0).max(1024).default(0).describe('CPU threads; 0 is one a core'),
  memory_gb: z
    .number()
    .min(0)
    .max(65_536)
    .default(0)
    .describe(
      'memory that the node may take, in GB; 0 is 85 % of what is free, within the limit of a container',
    ),
  micro_batch_tokens: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('tokens that are trained on at once; 0 is as many as fit, 2048 at most'),
})

const task = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a task name: a-z, 0-9 and _')
    .describe('the task; for a dataset, a name of your choice'),
  difficulty: z.int().min(0).max(1000).optional().describe("if unset, the task's own default"),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe('questions of your own: a file of JSON lines, or a folder of such files'),
  verifier: z
    .union([z.string().min(1), plugin])
    .optional()
    .describe(
      'for a dataset, how an answer is judged where its row does not say: exact, numeric, choice, set, regex, fraction or expression; as a table with "use", with settings',
    ),
})

const rollout = z.strictObject({
  group_size: z
    .int()
    .min(1)
    .max(256)
    .default(8)
    .describe('rollouts per prompt; 1 only for estimators without groups'),
  temperature: z.number().gt(0).max(5).default(1).describe('sampling temperature'),
  in_flight_weights: z
    .boolean()
    .default(false)
    .describe(
      'rollouts that are being written go on with new weights as they come, instead of ending with those they began with',
    ),
  groups_per_round: z.int().min(1).max(1024).default(16).describe('prompts that are answered in one go'),
  prompts: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      'training prompts per task: 0 draws new ones for ever, a number trains on a fixed set of so many, which plugins that keep count of prompts need',
    ),
})

const role = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9, _ and -')
    .describe('as its plugin calls it, such as hinter'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      "folder or name on the hub, as model.path; if unset, the node's own model, with weights of its own",
    ),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('AdamW step size; if unset, training.learning_rate'),
})

const training = z.strictObject({
  method: z
    .enum(['auto', 'full', 'lora'])
    .default('auto')
    .describe(
      'what is trained: all parameters, or a LoRA adapter beside frozen ones, which takes far less memory; "auto" is all parameters where they fit. A home goes on as it began',
    ),
  lora_rank: z.int().min(1).max(1024).default(16).describe('width of the adapter'),
  lora_alpha: z.number().gt(0).max(65_536).default(32).describe('the adapter counts alpha / rank times'),
  learning_rate: z.number().gt(0).max(1).default(1e-4).describe('AdamW step size'),
  warm_up_steps: z
    .int()
    .min(0)
    .default(10)
    .describe('optimizer steps over which the learning rate rises from 0, since AdamW knows no scale yet'),
  weight_decay: z.number().min(0).max(1).default(0).describe('decoupled weight decay'),
  max_gradient_norm: z.number().gt(0).default(1).describe('gradients are scaled down to this global norm'),
  own_groups: z.int().min(1).max(512).default(16).describe("this node's own groups in a batch (I)"),
  foreign_groups: z.int().min(0).max(512).default(16).describe("peers' groups in a batch at most (J)"),
  adaptive_sharing: z
    .boolean()
    .default(true)
    .describe(
      'lower J, down to 0, while what peers send brings less than own groups for the same compute; raise it again when it brings more',
    ),
  minibatches: z.int().min(1).max(64).default(1).describe('optimizer steps per batch'),
  aggregation: z
    .enum(['token_mean', 'sequence_mean', 'sequence_sum', 'fixed_length'])
    .default('token_mean')
    .describe(
      'how the losses of tokens become one: every token counts the same (DAPO); the mean over each rollout, then over rollouts (GRPO); the sum over each, then the mean (LUSPO, with gspo); that over the longest there can be (Dr. GRPO)',
    ),
  max_staleness: z
    .int()
    .min(0)
    .max(10_000)
    .default(8)
    .describe('groups older than this many policy versions are not trained on'),
})

const checkpoint = z.strictObject({
  every_steps: z.int().min(1).default(50).describe('optimizer steps between checkpoints'),
  keep: z.int().min(1).max(1000).default(3).describe('how many of the newest are kept'),
})

const evaluation = z.strictObject({
  every_seconds: z
    .number()
    .min(0)
    .default(60)
    .describe('pause between held-out evaluations; 0 turns them off'),
  prompts_per_task: z.int().min(1).max(100_000).default(100).describe('held-out prompts per task'),
})

const address = z.string().startsWith('/', 'must be a multiaddr such as /ip4/0.0.0.0/tcp/4001')

const swarm = z.strictObject({
  enabled: z.boolean().default(true).describe('false: no network at all'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .optional()
    .describe(
      'nodes meet only those of the same name; if unset, that of the invite this node joined by, else "waggle"',
    ),
  private: z
    .boolean()
    .default(false)
    .describe(
      'a private swarm: who lacks its key cannot connect. The key is made at the first start, and invites hold it',
    ),
  key_file: z
    .string()
    .min(1)
    .optional()
    .describe(
      'file with the key of a private swarm, in place of the one that was made or came with an invite',
    ),
  allow: z
    .array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…'))
    .optional()
    .describe('peer IDs that may connect; if unset, anyone who can'),
  listen: z
    .array(address)
    .default(['/ip4/0.0.0.0/tcp/0'])
    .describe('multiaddrs to listen on; port 0 takes a free one'),
  announce: z
    .array(address)
    .default([])
    .describe('multiaddrs to tell peers beside those found: a forwarded port, a public name'),
  bootstrap: z.array(address).default([]).describe('peers to dial at start, as multiaddrs with a peer ID'),
  mdns: z.boolean().default(true).describe('find peers on the local network'),
  wide: z
    .boolean()
    .default(true)
    .describe(
      'find peers through peers, and be reached through relays; false: only mDNS and addresses that are given',
    ),
  max_connections: z.int().min(1).max(1000).default(128).describe('connections at once, to all peers'),
  state_minutes: z
    .number()
    .min(0)
    .max(1440)
    .default(5)
    .describe(
      'minutes between asking peers for what their plugins know, for plugins that merge it; 0: never ask',
    ),
  upnp: z.boolean().default(false).describe('ask the router to forward a port (UPnP)'),
  relay: z
    .boolean()
    .default(false)
    .describe('let nodes behind NATs be reached through this one; it needs a port that others can reach'),
  webrtc: z
    .boolean()
    .default(false)
    .describe(
      'connect directly where both sides are behind NATs (WebRTC, an optional package); not in a private swarm',
    ),
  stun: z
    .array(z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:[\]/]+):\d{1,5}$/, 'must be host:port'))
    .default([])
    .describe('STUN servers that WebRTC asks, beside those that an invite names'),
  stun_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('answer STUN on this UDP port, for WebRTC of others; 0: do not'),
})

const control = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4190')
    .optional()
    .describe(
      'serve the control API and /metrics here over TCP, with tokens; if unset, on the unix socket only',
    ),
  public: z
    .boolean()
    .default(false)
    .describe('allow control.listen on an address that others can reach; it is not encrypted'),
})

const preset = z
  .enum(PRESET_NAMES)
  .optional()
  .describe(
    `values for a machine of some size, under those of this file: ${PRESET_NAMES.map((name) => `${name} (${PRESETS[name].summary})`).join('; ')}. \`waggle doctor\` proposes one`,
  )

export const configSchema = z.strictObject({
  preset,
  node: node.prefault({}).describe('who this node is'),
  model: model.prefault({}).describe('the model that it starts from'),
  engine: engine.prefault({}).describe('what computes'),
  tasks: z
    .array(task)
    .min(1)
    .default([
      { name: 'basic_arithmetic', difficulty: 1 },
      { name: 'base_conversion', difficulty: 1 },
      { name: 'fraction_simplification', difficulty: 1 },
    ])
    .describe('what it learns; `dataset` makes a task of questions of your own'),
  rollout: rollout.prefault({}).describe('how answers are sampled'),
  training: training.prefault({}).describe('how it learns'),
  estimator: plugin.default({ use: 'grpo' }).describe('what turns rewards into advantages'),
  corrections: z
    .array(plugin)
    .default([{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }])
    .describe('the loss, and what makes up for stale and foreign tokens; in order'),
  selector: plugin.default({ use: 'uniform' }).describe('what chooses the next prompts'),
  hints: z
    .array(plugin)
    .default([])
    .describe('what helps with prompts that the model cannot solve; in order'),
  replay: z.array(plugin).default([]).describe('what brings back rollouts of before; in order'),
  skills: z.array(plugin).default([]).describe('what keeps a library of what was learnt, in words; in order'),
  controls: z
    .array(plugin)
    .default([])
    .describe(
      'what decides how many rollouts are written, and which are ended; selectors beside the first, too',
    ),
  roles: z
    .array(role)
    .default([])
    .describe('models of plugins beside the policy, where they are not to be as the node has them'),
  checkpoint: checkpoint.prefault({}).describe('what survives a crash'),
  eval: evaluation.prefault({}).describe('held-out evaluation'),
  swarm: swarm.prefault({}).describe('peers'),
  control: control.prefault({}).describe('how the node is watched and steered'),
})

/** Keys whose values name plugins. */
export const PLUGIN_TABLES = [
  'estimator',
  'corrections',
  'selector',
  'hints',
  'replay',
  'skills',
  'controls',
] as const satisfies readonly (keyof typeof configSchema.shape)[]
export type PluginTableName = (typeof PLUGIN_TABLES)[number]

export type Config = z.output<typeof configSchema>
export type PluginConfig = Config['estimator']
export type TaskConfig = Config['tasks'][number]

/** The config that a person who sets nothing gets. */
export function defaultConfig(): Config {
  return configSchema.parse({})
}
