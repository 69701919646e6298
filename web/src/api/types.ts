// What the service answers, as far as the page reads it. /api/openapi.json has all of it.

export type PortType = string; // dataset, model_spec, trained_model and so on

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  [other: string]: unknown;
}

export interface CardInput {
  name: string;
  type: PortType;
  help: string;
  required: boolean;
  several: boolean;
  shape?: readonly number[]; // of a node's port; -1: any
}

export interface CardOutput {
  name: string;
  type: PortType;
  help: string;
  shape?: readonly number[];
}

export type NameKind = 'column' | 'condition' | 'dataset';

export interface CardType {
  name: string;
  version: number;
  title: string;
  help: string;
  inputs: CardInput[];
  outputs: CardOutput[];
  trains: boolean;
  settings: Schema;
  order?: string[]; // of the settings, as they were declared
  names?: Record<string, NameKind>; // settings whose values are names of something
  first?: string[]; // settings that people look for first
  only_with?: Record<string, { setting: string; values: string[] }>; // settings that mean something only beside these
  more_settings: { title: string; settings: Schema; order?: string[] }[];
  kind?: NodeKind; // of a type of node, which is seen as one of a card
  hasTrainable?: boolean; // of a node: arrays that gradients may change
}

export type NodeKind = 'data' | 'statistical' | 'stateless' | 'decider' | 'loss' | 'metric';

export interface NodePort {
  name: string;
  type: PortType; // of its numbers: float32, uint8
  shape: number[];
  help: string;
  required: boolean;
}

export interface NodeType {
  name: string;
  kind: NodeKind;
  help: string;
  inputs: NodePort[];
  outputs: NodePort[];
  trains: boolean;
  settings: Schema;
  order: string[];
}

// By card and node: ports with the shapes that are known before there are cubes.
export type GraphPorts = Record<string, Record<string, { inputs: NodePort[]; outputs: NodePort[] }>>;

export type JobState = 'pending' | 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'paused';

export interface Progress {
  card?: string;
  step?: number;
  total_steps?: number;
  steps_per_second?: number | null;
  seconds_left?: number | null;
  epoch?: number;
  epochs?: number; // that are to be trained
  train_loss?: number | null;
  validation_loss?: number | null;
  rows_per_second?: number | null;
  members?: number;
  finished_members?: number;
  gpu?: { busy: number; watts: number; used_bytes: number };
}

export interface Job {
  id: string;
  job_name: string;
  state: JobState;
  kind: string;
  priority: number;
  device: string;
  owner: string;
  created: string;
  started?: string;
  ended?: string;
  run: string;
  asked?: string;
  slot?: string;
  reason?: string;
  time_limit?: number;
  continues?: string;
  notes?: string[];
  summary?: Record<string, unknown>;
  document_id?: string;
  document_version?: number;
  waits_for?: string;
  progress?: Progress;
  attempts?: number;
  seconds_used?: number;
  document?: unknown;
}

export interface SavedDocument {
  id: string;
  project: string;
  name: string;
  version: number;
  created: string;
  changed: string;
  content?: string;
}

export interface Checked {
  valid: boolean;
  problems: { message: string; path: string; line?: number }[];
  warnings?: { message: string; path: string; line?: number }[];
  notes: string[];
  columns?: Record<string, string[]>; // by card, of the table that it reads, where they are known
  candidates?: number;
  graphs?: GraphPorts;
}

export interface DocumentVersion {
  time: string;
  version: number;
  author?: string;
  note?: string;
  content?: string;
}
