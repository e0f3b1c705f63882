// Takes over the terminal and always restores it: alternate screen, no cursor and no auto-wrap while the screen is
// up, pastes marked as such, and the previous state however it ends: quit, signal, crash, Ctrl-Z.

import { writeSync } from 'node:fs'
import type { Sink } from './sink.ts'

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h\u001b[0m\u001b[2J\u001b[H'
const MOUSE_ON = '\u001b[?1000h\u001b[?1006h'
const MOUSE_OFF = '\u001b[?1006l\u001b[?1000l'
const LEAVE = `${MOUSE_OFF}\u001b[0m\u001b[?2026l\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l`

export interface TerminalStream {
  write(text: string): unknown
  columns?: number
  rows?: number
  fd?: number
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

interface TerminalInput {
  isTTY?: boolean
  setRawMode?(on: boolean): unknown
}

export interface Terminal {
  enter(): void
  leave(): void
  /** Ctrl-Z: restores the terminal, stops the process group, and redraws when it continues. */
  suspend(): void
  /** Whether the terminal reports clicks and the wheel; otherwise it selects text. */
  mouse(on: boolean): void
  close(): void
}

interface TerminalParts {
  stdout: TerminalStream
  stdin: TerminalInput
  /** Whether the mouse is reported at first. */
  mouse: boolean
  sink: Sink
  process: NodeJS.Process
  /** Called when the window has a new size, which the sink has taken. */
  onSize: () => void
  /** Called on a signal that ends the program; the terminal is already restored. */
  onEnd: (signal: NodeJS.Signals) => void
}

export function createTerminal({
  stdout,
  stdin,
  mouse,
  sink,
  process,
  onSize,
  onEnd,
}: TerminalParts): Terminal {
  let entered = false
  let reportsMouse = mouse
  const enter = (): void => {
    if (entered) return
    entered = true
    if (stdin.isTTY) stdin.setRawMode?.(true)
    stdout.write(ENTER + (reportsMouse ? MOUSE_ON : ''))
    sink.open = true
    sink.repaint()
  }
  const leave = (): void => {
    if (!entered) return
    entered = false
    sink.open = false
    try {
      if (stdin.isTTY) stdin.setRawMode?.(false)
    } catch {
      // The terminal is gone.
    }
    // While the process is exiting, only a synchronous write is guaranteed to arrive.
    if (stdout.fd === undefined) stdout.write(LEAVE)
    else {
      try {
        writeSync(stdout.fd, LEAVE)
      } catch {
        stdout.write(LEAVE)
      }
    }
  }
  const onResize = (): void => {
    sink.resize(stdout.columns ?? sink.columns, stdout.rows ?? sink.rows)
    onSize()
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    leave()
    onEnd(signal)
  }
  const onContinue = (): void => {
    entered = false
    enter()
    onResize()
  }
  const onCrash = (): void => leave()
  stdout.on('resize', onResize)
  process.on('exit', leave)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', onSignal)
  process.on('SIGINT', onSignal)
  process.on('SIGCONT', onContinue)
  process.on('uncaughtExceptionMonitor', onCrash)
  return {
    enter,
    leave,
    suspend() {
      leave()
      // Stop the whole group, as the terminal does; otherwise npm and the shell keep waiting.
      process.kill(0, 'SIGTSTP')
    },
    mouse(on) {
      reportsMouse = on
      if (entered) stdout.write(on ? MOUSE_ON : MOUSE_OFF)
    },
    close() {
      leave()
      stdout.off('resize', onResize)
      process.off('exit', leave)
      process.off('SIGTERM', onSignal)
      process.off('SIGHUP', onSignal)
      process.off('SIGINT', onSignal)
      process.off('SIGCONT', onContinue)
      process.off('uncaughtExceptionMonitor', onCrash)
    },
  }
}
