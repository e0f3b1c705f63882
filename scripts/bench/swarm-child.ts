// One process of a swarm benchmark, started by the swarm-*.ts scripts beside it; not a script of its own. As a node does, it sees
// to its heap before it loads the rest.

import { keepYoungHeapSmall } from '../../daemon/cli/young-heap.ts'

keepYoungHeapSmall()
const { obeyParent } = await import('./swarm-orders.ts')
obeyParent()
