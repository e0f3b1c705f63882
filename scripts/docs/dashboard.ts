// The Grafana dashboard, generated from the same table as /metrics, so that every metric is on it. Rows and panels
// with more than one metric are laid out here by hand; each remaining metric gets its own panel at the end.

import { METRICS, type Metric } from '../../protocol/api/index.ts'

interface PanelPlan {
  title: string
  /** Series names, as in protocol/api/metrics.ts. */
  series: string[]
  kind?: 'stat'
}

const ROWS: ReadonlyArray<{ title: string; panels: PanelPlan[] }> = [
  {
    title: 'At a glance',
    panels: [
      { title: 'Step', series: ['step'], kind: 'stat' },
      { title: 'Reward', series: ['reward'], kind: 'stat' },
      { title: 'Held-out accuracy', series: ['eval_accuracy'], kind: 'stat' },
      { title: 'Peers', series: ['peers', 'peers_known'], kind: 'stat' },
      { title: 'Alerts', series: ['alerts', 'degraded', 'paused'], kind: 'stat' },
      { title: 'Last checkpoint', series: ['checkpoint_time'], kind: 'stat' },
    ],
  },
  {
    title: 'Learning',
    panels: [
      { title: 'Reward and held-out accuracy', series: ['reward', 'eval_accuracy'] },
      { title: 'Held-out accuracy by task', series: ['eval_task_accuracy'] },
      { title: 'Own recent accuracy by task', series: ['accuracy'] },
      { title: 'Groups: signal, all right, all wrong', series: ['signal', 'all_right', 'all_wrong'] },
    ],
  },
  {
    title: 'Stability',
    panels: [
      { title: 'Mismatch KL', series: ['mismatch_kl'] },
      { title: 'Entropy', series: ['entropy'] },
      { title: 'Gradient norm', series: ['gradient_norm'] },
      { title: 'Clipped, effective sample size', series: ['clipped', 'ess'] },
      { title: 'Off-policy age, 95th percentile', series: ['staleness'] },
      { title: 'Loss', series: ['loss'] },
    ],
  },
  {
    title: 'Swarm',
    panels: [
      { title: 'Groups per minute', series: ['received', 'verified', 'published', 'trained', 'generated'] },
      { title: 'Refused per minute, by reason', series: ['refused'] },
      { title: 'Traffic', series: ['bytes_in', 'bytes_out'] },
      { title: 'Traffic by peer', series: ['peer_bytes_in', 'peer_bytes_out'] },
      { title: 'Pool and batch', series: ['pool', 'batch'] },
    ],
  },
  {
    title: 'Agents',
    panels: [
      { title: 'Reward', series: ['agents_reward'] },
      { title: 'Open rollouts', series: ['agents_open'] },
      { title: 'Rewarded rollouts and groups per minute', series: ['agents_rewarded', 'agents_groups'] },
      { title: 'Dropped per minute, by reason', series: ['agents_dropped'] },
    ],
  },
  {
    title: 'Machine',
    panels: [
      { title: 'Tokens per second', series: ['generate_speed', 'train_speed'] },
      { title: 'Memory', series: ['rss'] },
      { title: 'CPU', series: ['cpu', 'cpu_seconds'] },
      { title: 'Disk', series: ['disk_free', 'state_bytes'] },
      { title: 'Seconds of a step by phase', series: ['phase'] },
    ],
  },
]

const UNITS: Record<string, string> = { s: 's', B: 'bytes', unix: 'dateTimeFromNow' }
const SHARES = /ratio|accuracy|reward$/
/** May be below zero. */
const SIGNED = new Set(['loss', 'sharing_effect', 'sharing_low', 'sharing_high'])
const STAT = { w: 4, h: 4 }
const GRAPH = { w: 12, h: 8 }

export function dashboard(): object {
  const planned = new Set(ROWS.flatMap(({ panels }) => panels.flatMap(({ series }) => series)))
  const rest = METRICS.filter(({ series }) => !planned.has(series)).map(({ series, help }) => ({
    title: help,
    series: [series],
  }))
  const panels: object[] = []
  let y = 0
  for (const { title, panels: plans } of [...ROWS, { title: 'More', panels: rest }]) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    })
    y += 1
    let x = 0
    let height = 0
    for (const plan of plans) {
      const size = 'kind' in plan && plan.kind === 'stat' ? STAT : GRAPH
      if (x + size.w > 24) {
        x = 0
        y += height
      }
      panels.push(panel(panels.length + 1, plan, { ...size, x, y }))
      x += size.w
      height = size.h
    }
    y += height
  }
  return {
    uid: 'waggle-node',
    title: 'Waggle',
    description: 'One or more Waggle nodes. Made from the table of metrics by scripts/docs/write.ts.',
    tags: ['waggle'],
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'source', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'instance',
          type: 'query',
          datasource: { type: 'prometheus', uid: '$source' },
          query: 'label_values(waggle_node_info, instance)',
          label: 'Node',
          multi: true,
          includeAll: true,
          refresh: 2,
        },
      ],
    },
    panels,
  }
}

function panel(id: number, { title, series, kind }: PanelPlan, gridPos: object): object {
  const metrics = series.map((name) => METRICS.find((metric) => metric.series === name)!)
  return {
    id,
    type: kind === 'stat' ? 'stat' : 'timeseries',
    title,
    description: metrics.map(({ help }) => help).join('. '),
    gridPos,
    datasource: { type: 'prometheus', uid: '$source' },
    fieldConfig: {
      defaults: { unit: unitOf(metrics[0]!), ...(series.some((name) => SIGNED.has(name)) ? {} : { min: 0 }) },
      overrides: [],
    },
    targets: metrics.map((metric, i) => ({
      refId: String.fromCharCode(65 + i),
      expr: expression(metric, kind),
      legendFormat: legend(metric),
    })),
  }
}

/** Counters are shown by how fast they grow, except where the count itself is the point. */
function expression({ name, kind, unit }: Metric, how: PanelPlan['kind']): string {
  const selected = `${name}{instance=~"$instance"}`
  if (kind === 'histogram')
    return `histogram_quantile(0.95, sum by (le, instance) (rate(${name}_bucket{instance=~"$instance"}[5m])))`
  if (unit === 'unix') return `1000 * ${selected}`
  if (kind !== 'counter' || how === 'stat') return selected
  return unit === 'B' || unit === 's' ? `rate(${selected}[5m])` : `60 * rate(${selected}[5m])`
}

function unitOf({ name, unit, kind }: Metric): string {
  if (kind === 'counter' && unit === 'B') return 'Bps'
  return UNITS[unit] ?? (SHARES.test(name) ? 'percentunit' : 'short')
}

/** Label names that a metric has, from its own table of what to read. */
const LABELS: Record<string, string> = {
  trained_last_hour: 'origin',
  accuracy: 'task',
  eval_task_accuracy: 'task',
  batch: 'origin',
  pool: 'origin',
  trained: 'origin',
  refused: 'reason',
  phase: 'phase',
  peer_bytes_in: 'peer',
  peer_bytes_out: 'peer',
  sharing_verdict: 'verdict',
}

const legend = ({ series }: Metric): string =>
  `{{instance}} ${series}${LABELS[series] ? ` {{${LABELS[series]}}}` : ''}`
