// The config's schema. Types, defaults, checks and the reference page are derived from it, and each key's description
// says what the key does. Commands that must start quickly do not import it: zod takes 50 ms to load.

import { z } from 'zod'
import { DEFAULT_RULE, MIXING_RULES, type MixingRuleName } from '../trainer/sharing/mixing/index.ts'
import { PRESET_NAMES, PRESETS } from './presets.ts'

const TASK_NAME = /^[a-z][a-z0-9_]{0,63}$/

export const plugin = z
  .looseObject({
    use: z.string().min(1).describe('the name of a built-in plugin, an npm package, or the path of a file'),
  })
  .describe('a plugin and its settings')

const node = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('the name of this node; if unset, a name derived from its peer ID'),
  seed: z
    .int()
    .min(0)
    .max(0xffff_ffff)
    .optional()
    .describe('seed of all random numbers; if unset, derived from the identity, so that nodes differ'),
})

const model = z.strictObject({
  path: z
    .string()
    .min(1)
    .default('default')
    .describe(
      'a folder with config.json, model.safetensors and tokenizer.json, or a name on the hub: org/name or org/name@revision; "default" is the bundled model',
    ),
  max_completion_tokens: z
    .int()
    .min(1)
    .max(32_768)
    .default(96)
    .describe('maximum length of a completion in tokens'),
})

const engine = z.strictObject({
  kind: z.enum(['onnx', 'tfjs']).default('onnx').describe('the engine that samples and trains'),
  device: z
    .enum(['auto', 'cpu', 'webgpu', 'cuda', 'dml', 'coreml'])
    .default('auto')
    .describe('the device to run on; "auto" selects the fastest one that works and reports why'),
  precision: z
    .enum(['auto', 'float32', 'float16'])
    .default('float32')
    .describe(
      'precision of matrix products in training; float16 needs a device that supports it; "auto" uses it where it is also faster',
    ),
  base_precision: z
    .enum(['auto', 'f32', 'f16', 'q8', 'q4'])
    .default('auto')
    .describe(
      'how frozen weights are kept while an adapter is trained: as float32, float16, or in blocks of 8- or 4-bit numbers. Quantized files stay as they are with "q8" and "q4". "auto" means float32 if it fits, else as the file has them',
    ),
  threads: z.int().min(0).max(1024).default(0).describe('CPU threads; 0 means one per core'),
  memory_gb: z
    .number()
    .min(0)
    .max(65_536)
    .default(0)
    .describe(
      'memory that the node may use, in GB; 0 means 85 % of the free memory, within the limit of the container',
    ),
  micro_batch_tokens: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('tokens per micro-batch; 0 means as many as fit, up to 2048'),
})

const sampler = z.strictObject({
  use: z
    .enum(['engine', 'node-llama-cpp', 'vllm', 'sglang', 'llama-server'])
    .default('engine')
    .describe(
      "what writes rollouts: this node's own engine; llama.cpp through the optional npm package node-llama-cpp; or a server at sampler.url. All but the engine need LoRA",
    ),
  url: z
    .string()
    .regex(
      /^https?:\/\/[^\s@?#]+$/,
      'must be an http or https address without a key, such as http://127.0.0.1:8000',
    )
    .max(512)
    .optional()
    .describe('address of the server'),
  key_variable: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
    .optional()
    .describe("name of the environment variable that holds the server's key; if unset, none is sent"),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'for node-llama-cpp, the GGUF file of the same model; if unset, model.path, which is then a GGUF file',
    ),
  adapter_every: z
    .int()
    .min(1)
    .max(10_000)
    .default(1)
    .describe('policy versions between adapters that the sampler loads'),
  adapters: z
    .string()
    .min(1)
    .optional()
    .describe(
      'folder for the adapters, which the server must see under the same path; if unset, in the state directory',
    ),
  restart: z
    .array(z.string().max(4096))
    .min(1)
    .max(64)
    .optional()
    .describe(
      'for llama-server, a command that restarts it with `--lora FILE`; the path of the file is added at its end',
    ),
  tolerance: z
    .number()
    .gt(0)
    .max(10)
    .default(0.15)
    .describe(
      "largest mean difference between the sampler's and the trainer's log-probs in the self-test, in nats; beyond it the node writes nothing",
    ),
  parallel: z.int().min(1).max(4096).default(32).describe('sequences written side by side'),
})

/** Of a dataset's rows. */
const field = z.string().min(1).max(256).optional()

const task = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a task name: a-z, 0-9 and _')
    .describe('the name of the task; for a dataset, a name of your choice'),
  difficulty: z.int().min(0).max(1000).optional().describe("if unset, the task's default"),
  examples: z
    .int()
    .min(0)
    .max(8)
    .optional()
    .describe(
      'how many solved examples to put before each question, as earlier turns of the chat; 0 if unset. A small model that seldom writes answer tags learns the form from one. Tasks with turns have none',
    ),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe(
      'your own questions: a file of JSON lines (*.jsonl), a table (*.csv, *.tsv), or a folder of such files',
    ),
  fields: z
    .strictObject({
      prompt: field.describe('the question, or a list of chat messages'),
      answer: field.describe(
        'the answer; for a chat that ends with the answer, the same field as the prompt',
      ),
      difficulty: field,
      verifier: field,
      choices: field,
      id: field,
      answer_after: z.string().min(1).max(64).optional(),
    })
    .optional()
    .describe(
      'for a dataset whose rows use other field names: which field is `prompt`, `answer`, `difficulty`, `verifier`, `choices` or `id`, such as { prompt = "question" }. Dots address nested fields; other fields are ignored. `answer_after = "####"` takes the text after that mark as the answer',
    ),
  verifier: z
    .union([z.string().min(1), plugin])
    .optional()
    .describe(
      'for a dataset, the verifier of rows that do not name one: exact, numeric, choice, set, regex, fraction or expression, or the path of a file with your own verifier, such as ./verifier.ts. To pass settings, use a table with "use"',
    ),
})

const rollout = z.strictObject({
  group_size: z
    .int()
    .min(1)
    .max(256)
    .default(8)
    .describe('rollouts per prompt; 1 works only with estimators that need no groups'),
  temperature: z.number().gt(0).max(5).default(1).describe('sampling temperature'),
  in_flight_weights: z
    .boolean()
    .default(false)
    .describe(
      'continue unfinished rollouts with the newest weights, instead of those they were started with',
    ),
  groups_per_round: z.int().min(1).max(1024).default(16).describe('prompts per round'),
  prompts: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      'number of training prompts per task; 0 draws new prompts forever. Plugins that track single prompts need a fixed set',
    ),
})

const role = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9, _ and -')
    .describe('the name of the role in its plugin, such as hinter'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      "a folder or a name on the hub, as for model.path; if unset, a copy of the node's model with its own weights",
    ),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('learning rate of AdamW; if unset, training.learning_rate'),
})

const training = z.strictObject({
  method: z
    .enum(['auto', 'full', 'lora'])
    .default('auto')
    .describe(
      'train all parameters (full) or a LoRA adapter on frozen weights (lora), which needs far less memory; "auto" trains all parameters if they fit. A home keeps the method that it started with',
    ),
  lora_rank: z.int().min(1).max(1024).default(16).describe('rank of the adapter'),
  lora_alpha: z.number().gt(0).max(65_536).default(32).describe('the adapter is scaled by alpha / rank'),
  learning_rate: z.number().gt(0).max(1).default(1e-4).describe('learning rate of AdamW'),
  scale_rate: z
    .boolean()
    .default(false)
    .describe(
      'multiply the learning rate by the square root of the groups in a batch over training.own_groups, up to 2; groups count less if their author does',
    ),
  warm_up_steps: z
    .int()
    .min(0)
    .default(10)
    .describe(
      'number of steps over which the learning rate rises from 0, while AdamW has no estimate of the gradient scale',
    ),
  weight_decay: z.number().min(0).max(1).default(0).describe('decoupled weight decay'),
  max_gradient_norm: z
    .number()
    .gt(0)
    .default(1)
    .describe('gradients with a larger global norm are scaled down to it'),
  own_groups: z
    .int()
    .min(1)
    .max(512)
    .default(16)
    .describe(
      'groups that make a batch due, and maximum number of own groups in it (I). Foreign groups count if the mixing rule puts them into the same batch',
    ),
  foreign_groups: z
    .int()
    .min(0)
    .max(512)
    .default(512)
    .describe(
      'maximum number of foreign groups in a batch (J). How many it has follows from the measured noise and cost of groups; with adaptive_sharing = false, it takes all up to this number',
    ),
  adaptive_sharing: z
    .boolean()
    .default(true)
    .describe(
      'have as many foreign groups in a batch as make the most progress for the compute, and none while they do worse than own groups',
    ),
  mixing: z
    .enum(Object.keys(MIXING_RULES) as [MixingRuleName, ...MixingRuleName[]])
    .default(DEFAULT_RULE)
    .describe(
      `how own and foreign gradients become one step. ${Object.entries(MIXING_RULES)
        .map(([name, { summary }]) => `${name}: ${summary}`)
        .join('; ')}`,
    ),
  minibatches: z.int().min(1).max(64).default(1).describe('optimizer steps per batch'),
  aggregation: z
    .enum(['token_mean', 'sequence_mean', 'sequence_sum', 'fixed_length'])
    .default('token_mean')
    .describe(
      'how token losses are combined. token_mean: every token has the same weight (DAPO); sequence_mean: the mean over each rollout, then over rollouts (GRPO); sequence_sum: the sum over each rollout, then the mean (LUSPO, with gspo); fixed_length: the sum over each rollout divided by the maximum length, then the mean (Dr. GRPO)',
    ),
  max_staleness: z
    .int()
    .min(0)
    .max(10_000)
    .default(8)
    .describe('groups older than this many policy versions are not trained on'),
})

const checkpoint = z.strictObject({
  every_steps: z.int().min(1).default(50).describe('steps between checkpoints'),
  every_seconds: z
    .number()
    .min(0)
    .default(300)
    .describe(
      'maximum seconds between checkpoints. The first is saved within a minute of the start; later ones may be delayed so that saving takes at most 2 % of the time. 0 uses every_steps alone',
    ),
  keep: z
    .int()
    .min(1)
    .max(1000)
    .default(3)
    .describe('number of checkpoints to keep: the newest, and older ones at least half of every_steps apart'),
})

const evaluation = z.strictObject({
  every_seconds: z
    .number()
    .min(0)
    .default(60)
    .describe('seconds between held-out evaluations; 0 turns them off'),
  prompts_per_task: z
    .int()
    .min(1)
    .max(100_000)
    .default(100)
    .describe('held-out prompts per task; a difficulty with fewer prompts uses all of them'),
})

const address = z.string().startsWith('/', 'must be a multiaddr such as /ip4/0.0.0.0/tcp/4001')

const swarm = z.strictObject({
  enabled: z.boolean().default(true).describe('false turns the network off'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .optional()
    .describe(
      'only nodes with the same swarm name connect; if unset, the name from the invite that this node joined with, otherwise "waggle"',
    ),
  private: z
    .boolean()
    .default(false)
    .describe(
      'private swarm: only nodes with its key can connect. The key is created at the first start and is part of invites',
    ),
  key_file: z
    .string()
    .min(1)
    .optional()
    .describe(
      'file with the key of a private swarm; replaces the key that was created here or came with an invite',
    ),
  allow: z
    .array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…'))
    .optional()
    .describe('peer IDs that may connect; if unset, anyone may'),
  trust: z
    .union([
      z.enum(['none', 'all']),
      z.array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…')),
    ])
    .default('none')
    .describe(
      'peers you vouch for, such as your other machines: their groups count as own ones from the first one on. none: peers earn their influence; all: everybody in this swarm, for a private one; or a list of peer IDs',
    ),
  listen: z
    .array(address)
    .default(['/ip4/0.0.0.0/tcp/0'])
    .describe('multiaddrs to listen on; port 0 selects a free port'),
  announce: z
    .array(address)
    .default([])
    .describe('additional multiaddrs to announce to peers, such as a forwarded port or a public name'),
  bootstrap: z
    .array(address)
    .default([])
    .describe('peers to dial at the start, as multiaddrs with a peer ID'),
  lan: z
    .enum(['ask', 'open', 'off'])
    .default('ask')
    .describe(
      'nodes on the local network (mDNS). ask: report them and join none; open: join all; off: neither discover nor be discovered',
    ),
  wide: z
    .boolean()
    .default(true)
    .describe(
      'find peers through other peers, and be reachable through relays; false: use only mDNS and configured addresses',
    ),
  max_connections: z.int().min(1).max(1000).default(128).describe('maximum number of connections'),
  state_minutes: z
    .number()
    .min(0)
    .max(1440)
    .default(5)
    .describe(
      'minutes between requests for the state of peers’ plugins, for plugins that merge it; 0 turns this off',
    ),
  upnp: z.boolean().default(false).describe('ask the router to forward a port (UPnP)'),
  relay: z
    .boolean()
    .default(false)
    .describe('relay for nodes behind NATs; this node needs a publicly reachable port'),
  webrtc: z
    .boolean()
    .default(false)
    .describe(
      'connect directly when both nodes are behind NATs (WebRTC, an optional package); not available in a private swarm',
    ),
  stun: z
    .array(z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:[\]/]+):\d{1,5}$/, 'must be host:port'))
    .default([])
    .describe('additional STUN servers for WebRTC, besides those in invites'),
  stun_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('UDP port on which this node answers STUN requests; 0 turns this off'),
})

const control = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4190')
    .optional()
    .describe(
      'host:port on which to serve the control API and /metrics over TCP, with tokens; if unset, only the unix socket is used',
    ),
  public: z
    .boolean()
    .default(false)
    .describe(
      'allow control.listen on an address that other machines can reach; the connection is not encrypted',
    ),
})

const agents = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4290')
    .optional()
    .describe(
      "host:port on loopback for the agents' gateway, an OpenAI-compatible API whose rollouts are trained on; if unset, there is none",
    ),
  strict: z
    .boolean()
    .default(false)
    .describe(
      'refuse requests with wishes that the node does not grant, such as another temperature; otherwise they are ignored, with a header x-waggle-ignored',
    ),
  rollout_seconds: z
    .number()
    .min(1)
    .max(86_400)
    .default(600)
    .describe("seconds after which an agent's rollout without a reward is dropped"),
  max_tokens: z
    .int()
    .min(16)
    .max(1_048_576)
    .default(2048)
    .describe(
      "maximum tokens of an agent's conversation, prompt and answer together; at most the model's context",
    ),
  max_open: z
    .int()
    .min(1)
    .max(10_000)
    .default(256)
    .describe("maximum number of agents' rollouts open at a time"),
})

const environment = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a name: a-z, 0-9 and _')
    .describe('a name of your choice, under which its rewards are shown'),
  use: z.enum(['openenv']).describe('the protocol that its server speaks: openenv'),
  url: z
    .url({ protocol: /^https?$/, message: 'must be a URL, such as http://127.0.0.1:8000' })
    .describe("the server's address, such as http://127.0.0.1:8000"),
  prompt: z
    .string()
    .min(1)
    .max(8192)
    .optional()
    .describe(
      'text that the model gets before what the environment shows first: what to do and how to answer',
    ),
  action: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'the field of an action that takes the answer. If unset: the only required field, or the only one; if there are several, the answer must be a JSON object',
    ),
  observation: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'the field of an observation that the model sees. If unset: the only text in it, or all of it as JSON',
    ),
  turns: z.int().min(1).max(64).default(16).describe('maximum number of answers of an episode'),
  sessions: z.int().min(1).max(64).default(8).describe('episodes that are played side by side, at most'),
  step_seconds: z
    .number()
    .min(0.1)
    .max(3600)
    .default(60)
    .describe('longest wait for a reply; then the episode is dropped and played again'),
})

const TIME = '([01]\\d|2[0-3]):[0-5]\\d'

const limits = z.strictObject({
  cpu_percent: z
    .number()
    .min(1)
    .max(100)
    .default(100)
    .describe(
      'share of the CPU that the node uses on average, in percent of all cores. The engine gets fewer threads, and rounds and steps wait in between',
    ),
  busy_percent: z
    .number()
    .min(0)
    .max(100)
    .default(100)
    .describe(
      'wait while other programs use more than this share of the CPU, in percent of all cores; 100 never waits',
    ),
  hours: z
    .string()
    .regex(new RegExp(`^${TIME}-(${TIME}|24:00)$`), 'must be two times of the day, such as 22:00-07:00')
    .default('00:00-24:00')
    .describe('work at these hours only, local time, such as 22:00-07:00'),
  on_battery: z
    .boolean()
    .default(true)
    .describe('work on battery power, too; false waits for mains power. Linux only'),
  celsius: z
    .number()
    .min(0)
    .max(150)
    .default(0)
    .describe(
      'wait while the hottest sensor of the machine shows more °C than this, until it has cooled by 5; 0 is no limit. Linux only',
    ),
  disk_gb: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe("wait while the node's files take more than this, in GB; 0 is no limit"),
  writes_gb_per_day: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe(
      'what the node writes to the disk on average, in GB a day: checkpoints are saved less often; 0 is no limit. Linux only',
    ),
  priority: z
    .enum(['background', 'normal'])
    .default('background')
    .describe('background: other programs get the CPU first'),
})

const metrics = z.strictObject({
  tensorboard: z
    .string()
    .min(1)
    .optional()
    .describe(
      "folder for TensorBoard event files of every step and evaluation, in addition to the node's own record; if unset, none are written",
    ),
})

const preset = z
  .enum(PRESET_NAMES)
  .optional()
  .describe(
    `defaults for a machine of a certain size; values in this file override them: ${PRESET_NAMES.map((name) => `${name} (${PRESETS[name].summary})`).join('; ')}. \`waggle doctor\` recommends one`,
  )

export const configSchema = z.strictObject({
  preset,
  node: node.prefault({}).describe('the identity of this node'),
  model: model.prefault({}).describe('the model to start from'),
  engine: engine.prefault({}).describe('the compute engine'),
  sampler: sampler.prefault({}).describe('what writes rollouts'),
  tasks: z
    .array(task)
    .default([
      { name: 'basic_arithmetic', difficulty: 1 },
      { name: 'base_conversion', difficulty: 1 },
      { name: 'fraction_simplification', difficulty: 1 },
    ])
    .describe(
      'what to train on; `dataset` makes a task of your own questions. tasks = [] trains on the rollouts of agents alone',
    ),
  rollout: rollout.prefault({}).describe('how rollouts are sampled'),
  training: training.prefault({}).describe('how to train'),
  estimator: plugin.default({ use: 'grpo' }).describe('the estimator, which turns rewards into advantages'),
  corrections: z
    .array(plugin)
    .default([{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }])
    .describe('the loss, and corrections for stale and foreign tokens; applied in order'),
  selector: plugin.default({ use: 'uniform' }).describe('the selector, which chooses the prompts of a round'),
  hints: z
    .array(plugin)
    .default([])
    .describe('plugins that add hints to prompts that the model cannot solve; applied in order'),
  replay: z
    .array(plugin)
    .default([])
    .describe('plugins that train again on earlier rollouts; applied in order'),
  skills: z
    .array(plugin)
    .default([])
    .describe('plugins that keep a library of advice and put it before questions; applied in order'),
  controls: z
    .array(plugin)
    .default([])
    .describe(
      'plugins that steer rollouts while they are written: how many, and which to stop; also further selectors',
    ),
  roles: z.array(role).default([]).describe('models and learning rates of plugin roles'),
  limits: limits
    .prefault({})
    .describe('what the node may use of the machine; memory is limited by engine.memory_gb'),
  checkpoint: checkpoint.prefault({}).describe('checkpoints'),
  eval: evaluation.prefault({}).describe('held-out evaluation'),
  swarm: swarm.prefault({}).describe('the network of peers'),
  control: control.prefault({}).describe('the control API'),
  agents: agents.prefault({}).describe("the agents' gateway"),
  environments: z.array(environment).max(16).default([]).describe('environments that others serve'),
  metrics: metrics.prefault({}).describe('additional outputs for training metrics'),
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
export type EnvironmentConfig = Config['environments'][number]

/** The config when nothing is set. */
export function defaultConfig(): Config {
  return configSchema.parse({})
}
