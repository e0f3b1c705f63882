// This package's folder and version. The version stands in package.json alone; whatever needs it reads it here.

import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

// The nearest one upwards: sources and built files lie at different depths.
const DESCRIPTION = findPackageJSON(import.meta.url)!

export const PACKAGE_ROOT: string = dirname(DESCRIPTION)

export const VERSION: string = (JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as { version: string }).version
