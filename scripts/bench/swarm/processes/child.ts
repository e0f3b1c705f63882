// One process of a swarm benchmark, started by parent.ts; not a script of its own. Like a node, it sets its heap
// limits before it loads the rest. With `many` it runs many nodes.

import { keepYoungHeapSmall } from '../../../../daemon/cli/daemon/young-heap.ts'

// Ten nodes in one process have ten times as much alive, which a small one would copy over and over.
if (!process.argv.includes('many')) keepYoungHeapSmall()
const { obeyParent } = await import('./orders.ts')
obeyParent()
