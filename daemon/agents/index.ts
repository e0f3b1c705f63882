// The gateway for agents: an HTTP server with the usual interfaces, where the node's policy writes the answers and
// finished rollouts become groups to train on. Also serving, where answers are trained on only if they are kept and rated,
// and environments that others serve, which the node plays by itself.

export type { AgentGateway, GatewayOptions, GatewayParts } from './contract.ts'
export type { ServedEnvironment } from './environments/environment.ts'
export { type NemoGymOptions, openNemoGym } from './environments/nemo-gym/nemo-gym.ts'
export { type Row, rowsIn } from './environments/nemo-gym/rows.ts'
export { type OpenEnvOptions, openOpenEnv } from './environments/openenv/openenv.ts'
export { openGateway } from './gateway.ts'
export { startAsking } from './kept/again.ts'
export { ownerAsks } from './kept/asked.ts'
export { type Conversations, openConversations } from './kept/conversations.ts'
export { nameForClients, openServe, type ServeOptions } from './serve.ts'
export { offeredModel } from './serving/offered-model.ts'
export type { Serving } from './serving/serving.ts'
export { gatewayApi } from './serving/shapes.ts'
export { createAnswers } from './writing/answers.ts'
