import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long for their size. The first to start would otherwise be the largest. */
const SLOW = /\/test\/(docs\/run|e2e\/|sim\/|trainer\/(learning|attacks))/

/** Starts the slow files early, so that none runs alone at the end, and one at a time, since they start processes. */
class SlowEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const slow = sorted.filter(({ moduleId }) => SLOW.test(moduleId)).reverse()
    const quick = sorted.filter(({ moduleId }) => !SLOW.test(moduleId))
    return [...quick.flatMap((file, i) => (i % 5 === 0 ? [...slow.splice(0, 1), file] : [file])), ...slow]
  }
}

/**
 * As daemon/platform/compiled.ts does for a node. Without it each engine's thread loads Node.js's TypeScript parser, the only
 * WebAssembly there, and where threads start and end quickly V8 now and then aborts ("Check failed: jit_page...", as in
 * nodejs/node 64500): test/cli/model-commands.test.ts starts 36. That the parser is the cause is likely, not shown.
 */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('.cache/compiled', import.meta.url))

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // A process runs many files, and imports only once what they test.
    isolate: false,
    sequence: { sequencer: SlowEarly },
  },
})
