CREATE TABLE stoker_datasets (id TEXT PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, rows BIGINT NOT NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, added TEXT NOT NULL, cleaned_of TEXT, cubes TEXT);
CREATE TABLE stoker_deployments (name TEXT PRIMARY KEY, model TEXT NOT NULL, deployed TEXT NOT NULL);
CREATE TABLE stoker_document_versions (document TEXT NOT NULL, version BIGINT NOT NULL, content TEXT NOT NULL, author TEXT NOT NULL, time TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (document, version));
CREATE TABLE stoker_documents (id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL, removed TEXT);
CREATE TABLE stoker_job_events (job TEXT NOT NULL, number BIGINT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL, details TEXT NOT NULL, PRIMARY KEY (job, number));
CREATE TABLE stoker_jobs (id TEXT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, name TEXT NOT NULL, state TEXT NOT NULL, asked TEXT, kind TEXT NOT NULL, priority BIGINT NOT NULL, device TEXT NOT NULL, slot TEXT, time_limit TEXT NOT NULL, document TEXT NOT NULL, request TEXT NOT NULL, notes TEXT NOT NULL, owner TEXT NOT NULL, attempts BIGINT NOT NULL, reason TEXT, run TEXT NOT NULL, continues TEXT, summary TEXT, created TEXT NOT NULL, started TEXT, ended TEXT);
CREATE TABLE stoker_models (id TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL, job TEXT, bytes BIGINT NOT NULL, facts TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE stoker_projects (id TEXT PRIMARY KEY, name TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE stoker_schema (version BIGINT NOT NULL);
CREATE TABLE stoker_service (id TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE stoker_sessions (hash TEXT PRIMARY KEY, token TEXT NOT NULL, csrf_hash TEXT NOT NULL, created TEXT NOT NULL, expires TEXT NOT NULL);
CREATE TABLE stoker_tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, created TEXT NOT NULL, expires TEXT, revoked TEXT);
CREATE INDEX stoker_jobs_by_owner ON stoker_jobs (owner, number);
CREATE INDEX stoker_jobs_by_run ON stoker_jobs (run);
CREATE INDEX stoker_jobs_by_state ON stoker_jobs (state, number);
CREATE INDEX stoker_jobs_in_line ON stoker_jobs (state, priority DESC, number);
INSERT INTO stoker_datasets (id, source, name, rows, fingerprint, columns, added, cleaned_of, cubes) VALUES ('29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876', '{"arrays":"keep","path":"/srv/stoker/datasets/uhf_mixed.sqlite","source":"sqlite","table":"uhf_mixed"}', '/srv/stoker/datasets/uhf_mixed.sqlite (table uhf_mixed)', 4030, '60db9e996e4d578965611db489d5550cd2089afe95984b31ce698bc7a85104c1', '[["receivers_0_0","double"],["receivers_0_1","double"],["receivers_0_2","double"],["receivers_0_3","double"],["receivers_0_4","double"],["receivers_0_5","double"],["receivers_1_0","double"],["receivers_1_1","double"],["receivers_1_2","double"],["receivers_1_3","double"],["receivers_1_4","double"],["receivers_1_5","double"],["receivers_2_0","double"],["receivers_2_1","double"],["receivers_2_2","double"],["receivers_2_3","double"],["receivers_2_4","double"],["receivers_2_5","double"],["receivers_3_0","double"],["receivers_3_1","double"],["receivers_3_2","double"],["receivers_3_3","double"],["receivers_3_4","double"],["receivers_3_5","double"],["receivers_4_0","double"],["receivers_4_1","double"],["receivers_4_2","double"],["receivers_4_3","double"],["receivers_4_4","double"],["receivers_4_5","double"],["receivers_5_0","double"],["receivers_5_1","double"],["receivers_5_2","double"],["receivers_5_3","double"],["receivers_5_4","double"],["receivers_5_5","double"],["receivers_6_0","double"],["receivers_6_1","double"],["receivers_6_2","double"],["receivers_6_3","double"],["receivers_6_4","double"],["receivers_6_5","double"],["receivers_7_0","double"],["receivers_7_1","double"],["receivers_7_2","double"],["receivers_7_3","double"],["receivers_7_4","double"],["receivers_7_5","double"],["receivers_8_0","double"],["receivers_8_1","double"],["receivers_8_2","double"],["receivers_8_3","double"],["receivers_8_4","double"],["receivers_8_5","double"],["receivers_9_0","double"],["receivers_9_1","double"],["receivers_9_2","double"],["receivers_9_3","double"],["receivers_9_4","double"],["receivers_9_5","double"],["present_0","int64"],["present_1","int64"],["present_2","int64"],["present_3","int64"],["present_4","int64"],["present_5","int64"],["present_6","int64"],["present_7","int64"],["present_8","int64"],["present_9","int64"],["snr_db","double"],["gdop","double"],["position_0","double"],["position_1","double"]]', '2026-11-19T10:49:41.061Z', NULL, NULL);
INSERT INTO stoker_datasets (id, source, name, rows, fingerprint, columns, added, cleaned_of, cubes) VALUES ('houses', '{"arrays":"keep","path":"/srv/stoker/datasets/ec245c60-8813-4088-99e1-1c1314aae147.sqlite","source":"sqlite","table":"houses"}', 'sample:boston_housing', 60, '83c41f3e584f806ba2d82928fc9c2e374f6ebced76726dbd30df15b2496beef3', '[["CRIM","double"],["ZN","double"],["INDUS","double"],["CHAS","double"],["NOX","double"],["RM","double"],["AGE","double"],["DIS","double"],["RAD","double"],["TAX","double"],["PTRATIO","double"],["B","double"],["LSTAT","double"],["MEDV","double"]]', '2026-11-19T10:49:43.302Z', NULL, NULL);
INSERT INTO stoker_deployments (name, model, deployed) VALUES ('best', '030cbe1e-ca37-4bcd-890c-55ecbe540d83', '2026-11-19T10:50:08.826Z');
INSERT INTO stoker_document_versions (document, version, content, author, time, note) VALUES ('26d47f22-4223-45d6-a8bb-b7b1be9474ef', 1, 'version: 1
name: prices
', 'first', '2026-11-19T10:49:44.849Z', '');
INSERT INTO stoker_documents (id, project, name, version, created, changed, removed) VALUES ('26d47f22-4223-45d6-a8bb-b7b1be9474ef', '81d04615-4485-401b-93f9-f5624aab8498', 'prices', 1, '2026-11-19T10:49:44.849Z', '2026-11-19T10:49:44.849Z', NULL);
INSERT INTO stoker_job_events (job, number, time, kind, details) VALUES ('732942af-c81b-40e6-81ab-12e92eec7216', 1, '2026-11-19T10:49:46.196Z', 'state', '{"state":"pending"}');
INSERT INTO stoker_job_events (job, number, time, kind, details) VALUES ('732942af-c81b-40e6-81ab-12e92eec7216', 2, '2026-11-19T10:49:46.260Z', 'state', '{"state":"queued"}');
INSERT INTO stoker_job_events (job, number, time, kind, details) VALUES ('732942af-c81b-40e6-81ab-12e92eec7216', 3, '2026-11-19T10:49:46.305Z', 'state', '{"slot":"cpu-0","state":"running"}');
INSERT INTO stoker_job_events (job, number, time, kind, details) VALUES ('732942af-c81b-40e6-81ab-12e92eec7216', 4, '2026-11-19T10:49:46.897Z', 'state', '{"state":"completed"}');
INSERT INTO stoker_jobs (id, number, name, state, asked, kind, priority, device, slot, time_limit, document, request, notes, owner, attempts, reason, run, continues, summary, created, started, ended) VALUES ('732942af-c81b-40e6-81ab-12e92eec7216', 1, 'small', 'completed', NULL, 'training', 0, 'auto', NULL, '0', 'version: 1
name: small
cards:
  load:
    type: data_load
    config:
      source: datasets
      path: ""
      url: ""
      sample_name: boston_housing
      sample_rows: null
      sample_seed: 42
      format: auto
      delimiter: ""
      decimal: auto
      thousands: auto
      header: auto
      missing_words: []
      text_columns: []
      number_columns: []
      date_columns: null
      url_timeout: 60.0
      url_max_megabytes: 1024.0
      uri: ""
      table: ""
      query: ""
      columns: []
      where: ""
      partitions: null
      partition_column: ""
      datasets: []
      arrays: columns
      refresh: always
      refresh_query: ""
      dataset_ids: [houses]
      cube_key: ""
      mask_path: ""
      mask_key: ""
      wavelengths: []
      processing: reflectance
      follow_external: false
    time_limit: 0.0
  split:
    type: data_split
    inputs:
      dataset: load.dataset
    config:
      train_ratio: 0.8
      test_ratio: 0.2
      test_rows: given
      random_seed: 42
      stratify_column: ""
      small_strata: refuse
      group_column: ""
      test_from: ""
      time_column: ""
    time_limit: 0.0
  model:
    type: model_define
    config:
      model_type: ridge
      hyperparameters:
        alpha: 1.0
        fit_intercept: true
    time_limit: 0.0
  train:
    type: train
    inputs:
      model_spec: model.model_spec
      train_dataset: split.train_dataset
    config:
      target_column: MEDV
      feature_columns: []
      task: auto
      missing_values: impute
      categorical_encoding: one_hot
      max_categories: 100
      scaling: auto
      scale_target: true
      relative_to: none
      mask_column: ""
      weight_column: ""
      class_weight: none
      class_weights: {}
      device: auto
      engine: auto
      precision: auto
      deterministic: false
      time_limit: 0.0
      checkpoint_seconds: 30.0
      keep_last: 2
      keep_best: 0
      tensorboard: false
      ensemble:
        folds: 0
        repeats: 1
        variants: {}
      walk_forward:
        folds: 0
        window: expanding
        past_blocks: 1
      stages: []
      stage_replay: 2000
      gpu_mode: auto
      parallel_strategy: data_parallel
      placement: auto
      preload_to_gpu: null
      gpu_memory_fraction: 0.9
      calibration: none
      decision_threshold: 0.5
      threshold_metric: none
    time_limit: 0.0
', '{"document":{"cards":{"load":{"config":{"dataset_ids":["houses"],"source":"datasets"},"type":"data_load"},"model":{"config":{"model_type":"ridge"},"type":"model_define"},"split":{"inputs":{"dataset":"load.dataset"},"type":"data_split"},"train":{"config":{"target_column":"MEDV"},"inputs":{"model_spec":"model.model_spec","train_dataset":"split.train_dataset"},"type":"train"}},"name":"small","version":1},"job_name":"small"}', '[]', 'first', 1, NULL, '2026-11-19_10-49-46_small_732942af', NULL, '{"results":[],"seconds":0.339771511,"trainings":[{"best_epoch":0,"card":"train","device":"cpu","end":"finished","engine":"cholesky","epochs":0,"model_type":"ridge","parameters":14,"placement":"host","seconds":9.6384e-05}],"warnings":[]}', '2026-11-19T10:49:46.195Z', '2026-11-19T10:49:46.305Z', '2026-11-19T10:49:46.897Z');
INSERT INTO stoker_models (id, name, folder, job, bytes, facts, created) VALUES ('030cbe1e-ca37-4bcd-890c-55ecbe540d83', 'small', '/srv/stoker/runs/2026-11-19_10-49-46_small_732942af/model', '732942af-c81b-40e6-81ab-12e92eec7216', 4024, '{"columns":[{"name":"CRIM","type":"number"},{"name":"ZN","type":"number"},{"name":"INDUS","type":"number"},{"name":"CHAS","type":"number"},{"name":"NOX","type":"number"},{"name":"RM","type":"number"},{"name":"AGE","type":"number"},{"name":"DIS","type":"number"},{"name":"RAD","type":"number"},{"name":"TAX","type":"number"},{"name":"PTRATIO","type":"number"},{"name":"B","type":"number"},{"name":"LSTAT","type":"number"}],"family":"ridge","metrics":{},"parameters":14,"predicts_from_memory":true,"run":"2026-11-19_10-49-46_small_732942af","target":"MEDV","task":"regression","tells_intervals":false,"why_no_intervals":"intervals come from rows that a model was not trained on, and this one kept none; train it as an ensemble (ensemble: {folds: 8} in the train card), or a network with validation rows"}', '2026-11-19T10:49:46.861Z');
INSERT INTO stoker_projects (id, name, created) VALUES ('81d04615-4485-401b-93f9-f5624aab8498', 'houses', '2026-11-19T10:49:41.895Z');
INSERT INTO stoker_schema (version) VALUES (17);
INSERT INTO stoker_service (id, data) VALUES ('6df75b5c-0183-45dc-ae43-32dad883b5b1', '/srv/stoker');
INSERT INTO stoker_sessions (hash, token, csrf_hash, created, expires) VALUES ('ec31fd15d1dbb8eb1875f5f309cd831f66b6b17381a3b6bd68746aa1221b2190', '15ddfe3f-f26a-42eb-92a5-81c1458e4d7f', 'e1bdf877ee7c84bb14c920c8652edbcada82ccc3367c5fe56ae2d1221e51516a', '2026-11-19T10:50:09.024Z', '2026-11-19T22:50:09.000Z');
INSERT INTO stoker_tokens (id, name, role, hash, created, expires, revoked) VALUES ('15ddfe3f-f26a-42eb-92a5-81c1458e4d7f', 'first', 'admin', '87ef9609b4a3d725d29dd047cb0ee3466a99e05e943224adae1542058dc4bc8b', '2026-11-19T10:49:38.914Z', NULL, NULL);
INSERT INTO stoker_tokens (id, name, role, hash, created, expires, revoked) VALUES ('caa94f12-7e29-45d2-a739-29948b173225', 'anna', 'user', '009c3b990a719575b69a4adbdd2f26bb2723ef4b83b5184b2f22dd03c2d6aa14', '2026-11-19T10:49:41.505Z', NULL, NULL);
INSERT INTO stoker_tokens (id, name, role, hash, created, expires, revoked) VALUES ('40f1a0f8-b05d-4d2c-8ad5-3c5b5d0219c2', 'vera', 'viewer', '79c0f03d67af1cced62bade8f555fd75826cf9b5cf9f60c5d59d0dcd9f315884', '2026-11-19T10:49:41.721Z', NULL, NULL);
