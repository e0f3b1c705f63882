// The control API: types and helpers shared by the daemon, the commands and the terminal UI.

export * from './accuracy.ts'
export * from './advice.ts'
export * from './agents-text.ts'
export * from './client.ts'
export * from './event-text.ts'
export * from './events.ts'
export * from './format.ts'
export * from './groups.ts'
export * from './metrics.ts'
export * from './requests.ts'
export * from './sharing-text.ts'
export * from './snapshot.ts'
