// What `waggle plugins list` shows first, and what was measured of each plugin: one sentence, from docs/results. "Earlier
// model" is one whose rewards are partly recall. A plugin that is not here was not measured.

/** The defaults, what others look for by name, what a config is built of, and what helped by more than chance explains. */
export const FIRST: ReadonlySet<string> = new Set([
  'estimator/grpo',
  'estimator/dr_grpo',
  'estimator/rloo',
  'estimator/reinforce_plus_plus',
  'estimator/reinforce_plus_plus_baseline',
  'estimator/spo',
  'estimator/gae',
  'estimator/v_trace',
  'estimator/gigpo',
  'estimator/none',
  'correction/clip',
  'correction/gspo',
  'correction/cispo',
  'correction/vespo',
  'correction/reinforce',
  'correction/tis',
  'correction/rejection',
  'correction/kl',
  'correction/teachers',
  'correction/success_nll',
  'correction/foreign',
  'correction/staleness',
  'correction/zero_signal',
  'correction/overlong',
  'selector/uniform',
  'selector/gdro_like',
  'hint/sage',
  'replay/lessons',
  'replay/r3_like',
])

const SAME = 'not told apart from GRPO'
const SAME_EARLIER = `${SAME} (earlier model)`
const KEPT = 'among those that kept 52 to 75 % of the gain at 32 versions (earlier model)'
const NO_GAIN = 'no gain over GRPO (earlier model)'

/** `kind/name` -> what was measured. */
export const EVIDENCE: Readonly<Record<string, string>> = {
  'estimator/dr_grpo': SAME_EARLIER,
  'estimator/rloo': SAME_EARLIER,
  'estimator/reinforce_plus_plus': SAME,
  'estimator/reinforce_plus_plus_baseline': SAME_EARLIER,
  'estimator/spo':
    '+3.4 ± 1.0 points held-out, +8.2 ± 7.6 on its set, with recurring prompts (earlier model)',
  'estimator/gae': '+5.0 ± 4.3 points in groups of 2, none in groups of 8 (earlier model)',
  'estimator/v_trace': '+4.4 ± 1.8 points in groups of 2, none in groups of 8 (earlier model)',
  'estimator/gigpo': 'reward +4.5 ± 15.8 points on episodes, not told apart (earlier model)',
  'estimator/hgpo': 'reward 2.8 points above GRPO on episodes, not told apart (earlier model)',
  'estimator/trloo': 'reward 2.5 points below GRPO on episodes, not told apart (earlier model)',
  'estimator/pass_at_k': '−3.7 ± 1.1 points in groups of 8 (earlier model)',
  'estimator/remax': 'reward −3.9 ± 3.0 points (earlier model)',
  'estimator/mc_grpo': SAME_EARLIER,
  'estimator/opo': SAME_EARLIER,
  'estimator/lite_ppo': SAME_EARLIER,
  'estimator/gpg': `${SAME} in an earlier form (earlier model)`,
  'estimator/a_grae': SAME_EARLIER,
  'estimator/canon': SAME_EARLIER,
  'estimator/gtpo': SAME_EARLIER,
  'estimator/opmd': SAME_EARLIER,
  'estimator/red_weight': SAME_EARLIER,
  'estimator/mapo': SAME_EARLIER,
  'estimator/copo': SAME_EARLIER,
  'estimator/otb': SAME_EARLIER,
  'estimator/disco': SAME,
  'correction/tis': 'kept 78 % of the gain at 8 versions (earlier model)',
  'correction/gspo': 'kept 60 % of the gain at 32 versions (earlier model)',
  'correction/cispo': 'kept 76 % of the gain at 32 versions (earlier model)',
  'correction/vespo': 'kept 99 % of the gain at 32 versions (earlier model)',
  'correction/topr': 'kept 96 % of the gain at 32 versions (earlier model)',
  'correction/gmpo': 'kept 90 % of the gain at 32 versions (earlier model)',
  'correction/dppo': KEPT,
  'correction/m2po': KEPT,
  'correction/opsm': KEPT,
  'correction/rec': KEPT,
  'correction/soft_adaptive': KEPT,
  'correction/teachers': '+4.8 ± 2.8 points against a node alone that took longer, one task',
  'correction/success_nll': '+1.1 ± 2.0 points, not told apart from GRPO',
  'correction/kl_limit': `${SAME}, with disco`,
  'correction/llds': SAME,
  'selector/gdro_like': '+2.5 ± 3.5 points against all levels evenly; below a level chosen by hand',
  'hint/sage': '+3.4 ± 1.4 points (earlier model); 10 and 12 points below GRPO with a pretrained model',
  'hint/scaf_grpo': NO_GAIN,
  'hint/hill': NO_GAIN,
  'hint/sage_light': NO_GAIN,
  'hint/hatch': 'with SAGE, not told apart from SAGE alone (earlier model)',
  'replay/lessons': '36 to 82 % of a specialist on its task, one seed',
  'replay/r3_like': '+6.2 ± 4.9 points (earlier model); about none with a pretrained model',
  'replay/dots': 'set +11 ± 11 points at twice the time a token (earlier model)',
  'skill/arise': 'needs a larger model: 135 M parameters wrote none of 19 texts so that it could be read',
  'skill/slea': 'needs a larger model: its library did harm in evaluation, 3 and 18 % against 30 %',
  'skill/sage_chain': 'needs a larger model: none of 384 texts could be read',
  'skill/training_free_grpo': 'needs a larger model: none of 12 texts could be read',
  'control/april': '0.83 of the speed on a CPU; for devices whose step costs the same however full',
  'control/spo_chain': '−2.4 ± 3.3 points, not told apart from GRPO',
  'control/scope_like': '+0.5 ± 1.0 points without answer keys, in a short run',
}

const NOT_BETTER = 'it was a reconstruction, and five runs did not tell it from GRPO without it'

/** Plugins of the last version that were deleted. */
export const GONE: Readonly<Record<string, { because: string; harmless?: boolean }>> = {
  'correction/dagrpo_like': {
    because: 'it never acted: five of five runs gave the numbers without it',
    harmless: true,
  },
  'correction/sppo': {
    because:
      'it kept 19 % of the gain at 8 versions and none at 32, and no paper stands behind it; use "clip" or "topr"',
  },
  'estimator/ngrpo': {
    because: 'it ended 4.7 ± 1.6 points below "grpo" in groups of 2, 2.5 ± 1.3 in groups of 4',
  },
  'estimator/asymre': {
    because: 'it ended 2.9 ± 1.4 points below "grpo" in groups of 2, 1.8 ± 0.7 in groups of 4',
  },
  'correction/r2vpo_like': {
    because: 'it ended 1.3 ± 1.1 points below "clip" with rollouts two versions old',
  },
  'correction/st_ppo_like': {
    because: 'it ended 1.1 ± 0.7 points below "clip" with rollouts two versions old',
  },
  'correction/ace_like': { because: NOT_BETTER },
  'correction/d3s_like': { because: NOT_BETTER },
  'correction/srpo_like': { because: NOT_BETTER },
  'control/tree_rl_like': { because: NOT_BETTER },
  'control/arrol_like': { because: NOT_BETTER },
  'selector/vade_like': {
    because: 'it was a reconstruction, and runs of an earlier model did not tell it from "uniform"',
  },
  'control/dars': {
    because: 'at equal tokens an earlier model ended 9.9 ± 4.6 points below asking all alike',
  },
  'control/xrpo_like': {
    because: 'it was a reconstruction, and brought an earlier model nothing over asking all alike',
  },
  'replay/rescue': {
    because: 'in its one run it taught nothing; among machines of yours use "lessons", or "teachers"',
  },
  'selector/common': { because: 'only "rescue" needed it, which is gone; use "uniform"' },
  'replay/selective_like': { because: 'it brought an earlier model nothing; use "dots" or "r3_like"' },
  'hint/cog_rethinker_like': {
    because: 'it solved none of 32 prompts with a model of 135 M parameters, and ended below "grpo"',
  },
}
