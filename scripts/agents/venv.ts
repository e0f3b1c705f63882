// A Python environment with packages from the Python package index, for scripts alone: Waggle itself needs no Python.

import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The interpreter of .cache/NAME, made with `python3` (or $PYTHON) when it is asked for first. */
export function pythonWith(name: string, packages: readonly string[]): string {
  const folder = join('.cache', name)
  const [python, done] = [join(folder, 'bin/python'), join(folder, 'installed')]
  if (!existsSync(done)) {
    console.log(`installing ${packages.join(', ')} into ${folder}`)
    execFileSync(process.env.PYTHON ?? 'python3', ['-m', 'venv', folder], { stdio: 'inherit' })
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...packages], { stdio: 'inherit' })
    writeFileSync(done, packages.join('\n'))
  }
  return python
}

/** Versions of what is installed there, such as "openenv 0.10.0". */
export function versionsOf(python: string, packages: readonly string[]): string {
  const code =
    'import sys, importlib.metadata as m; print(", ".join(f"{p} {m.version(p)}" for p in sys.argv[1:]))'
  return execFileSync(python, ['-c', code, ...packages], { encoding: 'utf8' }).trim()
}
