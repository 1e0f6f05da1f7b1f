export interface Count { yes: number; of: number; low: number; high: number }
export interface Meter { name: string; words: string; aim: "more" | "less" | "neither"; updates: number[]; counts: Count[]; changes: number[]; band: number[] | null; compared: string }
export interface Way { words: string; wrong: Meter | null; right: Meter | null }
export interface PaidSide { text: string; score: number | null }
export interface Paid { name: string; sentence: string; pair: { prompt: string; before: PaidSide; after: PaidSide } | null }
export interface Behaviours { meters: Meter[]; ways: Way[]; paid: Paid[] }
export interface Judged { updates: number[]; lines: { name: string; label: string; comparable: boolean; mean: (number | null)[]; half: (number | null)[] }[]; turns: { label: string; update: number }[]; verdicts: { text: string; turned: boolean }[] }
export interface Looks { update: number[]; kl: number[]; score: number[]; low: number[]; high: number[] }
export interface Possible { start: number; best_of: { n: number[]; kl: number[]; score: number[]; kl_half: number[] }; optimum: { beta: number[]; score: number[]; kl: number[]; effective: number[] }; trusted: number }
export interface FrontierLines { looks: Looks; possible: Possible | null }
export interface FrontierPart extends FrontierLines { unit: string; beta: number | null; sentence: string; missing: string; can_draw: boolean }
