// What differs between operating systems, in one place: the rest of the daemon asks here instead of naming a system.

export { keepCompiled, saveCompiled } from './compiled.ts'
export { LEAN_MALLOC, leanFlags, leanStart, SCREEN_FLAGS } from './lean.ts'
export { processorTime } from './processors.ts'
export { obeyProxy } from './proxy.ts'
export { checkSupported, type System, thisSystem } from './support.ts'
export { after, sleep } from './timers.ts'
export { here, isOpenToOthers, syncFolder, type Traits, traitsOf } from './traits.ts'
export { typedIn } from './typed-in.ts'
export { xdgFolder } from './xdg.ts'
