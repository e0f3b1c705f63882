// What the node's HTTP servers share: the control API and the gateway for agents.

export { parseBody, readBody } from './body.ts'
export { HttpError } from './error.ts'
export { sendJson } from './json.ts'
export { isLoopback, isSamePlace, type ListenOptions, listenOn } from './listen.ts'
export { requireMeant } from './meant.ts'
export { checkBody, jsonSchema, type Operation, openApi } from './shapes.ts'
export { isSameToken, tokenIn, tokenOf } from './tokens.ts'
