// The gateway for agents: an HTTP server with OpenAI's interface, whose answers the node's policy writes and whose
// finished rollouts become groups to train on.

export type { AgentGateway, GatewayOptions, GatewayParts } from './contract.ts'
export { openGateway } from './gateway.ts'
