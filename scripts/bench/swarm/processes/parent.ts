// The parent's side of child.ts: starts processes, gives orders, waits for answers. Used by the benchmarks in this folder.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import type { SwarmOptions } from '../../../../daemon/swarm/index.ts'
import type { Order, Report } from './orders.ts'

export type Of<Kind extends Report['kind']> = Extract<Report, { kind: Kind }>

export class Child {
  readonly process: ChildProcess
  private readonly listeners = new Set<(report: Report) => void>()

  /** `netns`: the network namespace to run in. `many`: it will hold more than one node. */
  constructor({ netns, many = false }: { netns?: string; many?: boolean } = {}) {
    const file = new URL('child.ts', import.meta.url).pathname
    const args = many ? ['many'] : []
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
    this.process = netns
      ? spawn('ip', ['netns', 'exec', netns, process.execPath, ...process.execArgv, file, ...args], {
          stdio: [...stdio],
        })
      : fork(file, args, { stdio: [...stdio] })
    this.process.on('message', (report: Report) => {
      if (report.kind === 'failed') console.error(report.what, report.error)
      for (const listener of this.listeners) listener(report)
    })
  }

  on(listener: (report: Report) => void): void {
    this.listeners.add(listener)
  }

  tell(order: Order): void {
    this.process.send(order)
  }

  ask<Kind extends Report['kind']>(order: Order, kind: Kind, timeoutMs = 60_000): Promise<Of<Kind>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${kind} after ${timeoutMs} ms`)), timeoutMs)
      const listener = (report: Report) => {
        if (report.kind !== kind || ('node' in report && 'node' in order && report.node !== order.node))
          return
        clearTimeout(timer)
        this.listeners.delete(listener)
        resolve(report as Of<Kind>)
      }
      this.listeners.add(listener)
      this.tell(order)
    })
  }

  start(
    node: number,
    options: Partial<SwarmOptions> = {},
    more: { keyPem?: string; datastore?: string } = {},
  ): Promise<Of<'started'>> {
    return this.ask(
      { do: 'start', node, options: { maxCompletionTokens: 100_000, ...options }, ...more },
      'started',
    )
  }

  /** Ends it as a power cut would. */
  kill(): Promise<void> {
    return new Promise((resolve) => {
      this.process.once('exit', () => resolve())
      this.process.kill('SIGKILL')
    })
  }
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

export const round = (value: number, digits = 1) => Number(value.toFixed(digits))
