// What the server says, as far as the page reads it. Fields that a key may not see are absent.

export interface Difference {
  position: number;
  in: string | null;
  message: number | null;
  role: string;
  known_text: string;
  sent_text: string;
}

export interface Missing {
  why: string;
  position: number;
  evicted_at: string | null;
  kept_with_bytes: number | null;
  sentence: string;
}

export interface Receipt {
  id: string;
  response: string;
  session: string | null;
  one_off: boolean;
  time: string;
  slot: number;
  prompt_tokens: number;
  matched_tokens: number;
  restored_tokens: number;
  restored_from: string;
  recomputed_tokens: number;
  bytes_restored: number;
  bytes_fetched: number;
  difference: Difference | null;
  missing: Missing | null;
  notes: string[];
  queued_ms: number;
  waited_for: string | null;
  fetch_ms: number;
  restore_ms: number;
  prompt_ms: number;
  saved_ms: number;
  companion: { name: string; drafted: number; accepted: number; missing: string | null } | null;
  proof: string | null;
  advice: string | null;
  complete: boolean;
}

export interface Timings {
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  predicted_n: number;
  predicted_ms: number;
  predicted_per_second: number;
  draft_n?: number;
  draft_n_accepted?: number;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Props {
  model_alias: string;
  build_info: string;
  total_slots: number;
  default_generation_settings: { n_ctx: number; params: Record<string, number | string> };
  engine?: {
    version: string;
    cpu_variant: string;
    slots_together: boolean;
    drafts: boolean;
    given_up: string | null;
    fault: string | null;
    check: { result: string; kinds: number; unchecked: number; ms: number };
  };
  conversation?: { tokens: number; bytes: number; fit_in_memory: number; fit_on_disk: number };
}

export interface Slot {
  id: number;
  n_ctx: number;
  is_processing: boolean;
  state: 'idle' | 'prefill' | 'decode';
  n_tokens: number;
  n_prompt_tokens: number;
  n_prompt_tokens_processed: number;
  next_token: [{ n_decoded: number }];
}

export interface HeldConversation {
  tokens: number;
  bytes: number;
  own_row_bytes: number;
  own_snapshots: number;
  own_snapshot_bytes: number;
  shared_bytes: number;
  shared_snapshots: number;
  idle_seconds: number;
  slot: number | null;
  disk_tokens: number | null;
}

export interface CacheStatus {
  enabled: boolean;
  exact: 'off' | 'prompt' | 'all';
  summary: string;
  hit_share?: number | null;
  state: string;
  fingerprint: string;
  memory: Record<string, number> | null;
  disk: (Record<string, number> & { writes: boolean; volume_full: boolean; last_failure: string | null }) | null;
  conversations: {
    count: number;
    own_bytes: number;
    shared_bytes: number;
    latest: HeldConversation[];
  } | null;
  totals: Record<string, number> | null;
}

export interface TreeNode {
  parent: number | null;
  from: number;
  to: number;
  conversations: number;
  snapshots: number[];
  tip: {
    branch: string;
    bytes: number;
    own_bytes: number;
    snapshots: number;
    idle_seconds: number;
    slot: number | null;
    disk_tokens: number | null;
  } | null;
}

export interface CacheTree {
  conversations: number;
  shown: number;
  nodes: TreeNode[];
}
