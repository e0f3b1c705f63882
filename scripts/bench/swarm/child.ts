// One process of a swarm benchmark, started by the swarm-*.ts scripts beside it; not a script of its own. As a node does, it sees
// to its heap before it loads the rest; with `many` it is for many nodes.

import { keepYoungHeapSmall } from '../../../daemon/cli/daemon/young-heap.ts'

// Ten nodes in one process have ten times as much alive, which a small one would copy over and over.
if (!process.argv.includes('many')) keepYoungHeapSmall()
const { obeyParent } = await import('./orders.ts')
obeyParent()
