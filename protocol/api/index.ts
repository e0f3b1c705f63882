// The control API's types: what daemon, commands and terminal UI say to each other.

export * from './advice.ts'
export * from './client.ts'
export * from './event-text.ts'
export * from './events.ts'
export * from './format.ts'
export * from './groups.ts'
export * from './metrics.ts'
export * from './requests.ts'
export * from './sharing-text.ts'
export * from './snapshot.ts'
