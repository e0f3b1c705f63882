// The section [limits]: what the node may use of the machine, and when.

import { z } from 'zod'

const TIME = '([01]\\d|2[0-3]):[0-5]\\d'

export const limits = z.strictObject({
  cpu_percent: z
    .number()
    .min(1)
    .max(100)
    .default(100)
    .describe('percent of all cores that the node uses on average'),
  busy_percent: z
    .number()
    .min(0)
    .max(100)
    .default(100)
    .describe('wait while other programs use more than this percent of all cores; 100 never waits'),
  hours: z
    .string()
    .regex(new RegExp(`^${TIME}-(${TIME}|24:00)$`), 'must be two times of the day, such as 22:00-07:00')
    .default('00:00-24:00')
    .describe('hours of work, local time, such as 22:00-07:00'),
  on_battery: z.boolean().default(true).describe('work on battery power; Linux only'),
  celsius: z
    .number()
    .min(0)
    .max(150)
    .default(0)
    .describe('wait above this temperature of the hottest sensor, in °C; 0 is no limit; Linux only'),
  disk_gb: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe("wait above this size of the node's files, in GB; 0 is no limit"),
  writes_gb_per_day: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('GB a day written to the disk, above which checkpoints are rarer; 0 is no limit; Linux only'),
  up_kb_per_second: z.number().min(0).max(1e9).default(0).describe('kB a second to peers; 0 is no limit'),
  down_kb_per_second: z.number().min(0).max(1e9).default(0).describe('kB a second from peers; 0 is no limit'),
  network_gb_per_month: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('GB a month to and from peers; then the node trains alone until the next month; 0 is no limit'),
  weights_mb_per_hour: z
    .number()
    .min(0)
    .max(1e9)
    .default(10)
    .describe('MB an hour of weights, each way, beyond the local network; 0 is no limit'),
  priority: z
    .enum(['background', 'normal'])
    .default('background')
    .describe('background: other programs get the CPU first'),
})
