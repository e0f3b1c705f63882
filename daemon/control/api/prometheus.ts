// /metrics: a snapshot in Prometheus' text format, version 0.0.4. The metrics are defined in protocol/api/metrics.ts.

import { METRICS, type Metric, type Snapshot } from '../../../protocol/api/index.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function prometheusText(snapshot: Snapshot): string {
  const lines: string[] = []
  info(lines, snapshot)
  for (const metric of METRICS) {
    if (metric.kind === 'histogram') {
      lines.push(...histogramLines(metric, snapshot))
      continue
    }
    const reading = metric.read(snapshot)
    if (reading === undefined) continue
    const values = typeof reading === 'number' ? [{ value: reading }] : reading
    const rows = values
      .filter(({ value }) => Number.isFinite(value))
      .map((row) => `${metric.name}${labelText('labels' in row ? row.labels : undefined)} ${row.value}`)
    if (rows.length === 0) continue
    lines.push(`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} ${metric.kind}`, ...rows)
  }
  return `${lines.join('\n')}\n`
}

function histogramLines(metric: Metric, snapshot: Snapshot): string[] {
  const { name, help } = metric
  const found = metric.distribution?.(snapshot)
  if (!found) return []
  let count = 0
  const buckets = found.counts.map((more, i) => {
    count += more
    return `${name}_bucket{le="${found.bounds[i] ?? '+Inf'}"} ${count}`
  })
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
  return [...head, ...buckets, `${name}_sum ${found.sum}`, `${name}_count ${count}`]
}

function info(lines: string[], { node, engine }: Snapshot): void {
  const labels = {
    version: node.version,
    name: node.name,
    peer_id: node.peerId,
    ...(engine ? { engine: engine.kind, device: engine.device } : {}),
  }
  lines.push('# HELP waggle_node_info Which node this is', '# TYPE waggle_node_info gauge')
  lines.push(`waggle_node_info${labelText(labels)} 1`)
}

function labelText(labels: Record<string, string> | undefined): string {
  if (!labels) return ''
  const quoted = (text: string) => text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
  return `{${Object.entries(labels)
    .map(([key, value]) => `${key}="${quoted(value)}"`)
    .join(',')}}`
}
