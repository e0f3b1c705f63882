// The section [limits]: what the node may use of the machine, and when.

import { z } from 'zod'

const TIME = '([01]\\d|2[0-3]):[0-5]\\d'

export const limits = z.strictObject({
  cpu_percent: z
    .number()
    .min(1)
    .max(100)
    .default(100)
    .describe(
      'share of the CPU that the node uses on average, in percent of all cores. The engine gets fewer threads, and rounds and steps wait in between',
    ),
  busy_percent: z
    .number()
    .min(0)
    .max(100)
    .default(100)
    .describe(
      'wait while other programs use more than this share of the CPU, in percent of all cores; 100 never waits',
    ),
  hours: z
    .string()
    .regex(new RegExp(`^${TIME}-(${TIME}|24:00)$`), 'must be two times of the day, such as 22:00-07:00')
    .default('00:00-24:00')
    .describe('work at these hours only, local time, such as 22:00-07:00'),
  on_battery: z
    .boolean()
    .default(true)
    .describe('work on battery power, too; false waits for mains power. Linux only'),
  celsius: z
    .number()
    .min(0)
    .max(150)
    .default(0)
    .describe(
      'wait while the hottest sensor of the machine shows more °C than this, until it has cooled by 5; 0 is no limit. Linux only',
    ),
  disk_gb: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe("wait while the node's files take more than this, in GB; 0 is no limit"),
  writes_gb_per_day: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe(
      'what the node writes to the disk on average, in GB a day: checkpoints are saved less often; 0 is no limit. Linux only',
    ),
  up_kb_per_second: z
    .number()
    .min(0)
    .max(1e9)
    .default(0)
    .describe(
      'what the node sends to peers at most, in kB a second; groups that would wait long are not published or passed on; 0 is no limit',
    ),
  down_kb_per_second: z
    .number()
    .min(0)
    .max(1e9)
    .default(0)
    .describe('what the node receives from peers at most, in kB a second; 0 is no limit'),
  network_gb_per_month: z
    .number()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe(
      'what the node sends and receives in a calendar month, in GB; then it disconnects, trains alone, and returns in the next month; 0 is no limit',
    ),
  priority: z
    .enum(['background', 'normal'])
    .default('background')
    .describe('background: other programs get the CPU first'),
})
