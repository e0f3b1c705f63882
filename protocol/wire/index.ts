// What nodes say to one another, byte for byte. README.md beside this is the specification.

export * from './announcement.ts'
export * from './cbor.ts'
export * from './digest.ts'
export * from './fault.ts'
export * from './fetch.ts'
export * from './frame.ts'
export * from './group.ts'
export * from './hello.ts'
export * from './invite.ts'
export * from './limits.ts'
export * from './pack.ts'
export * from './peer-id.ts'
