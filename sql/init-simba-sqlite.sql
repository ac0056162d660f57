-- The three tables of Simba on SQLite. Simba runs this script itself when it opens a file that lacks
-- them; run it by hand only where the process may not create tables. It may be run again at any time.
--
-- Columns and indexes are those of the other SQL storages. What SQLite adds: "strict" refuses a value of
-- another type, "without rowid" keeps each row in its primary key. Text compares byte by byte.

-- One row for each session. A keep-alive renews the session and, through it, every lease and membership.
create table if not exists simba_session
(
    session_id text    not null primary key,
    expires_at integer not null,            -- database time, epoch ms
    metadata   text    not null default ''
) strict, without rowid;

create index if not exists idx_session_expires on simba_session (expires_at);

-- One row for each name that was ever acquired. Never deleted, so that the token never resets: a release
-- sets session_id to '' and keeps the token. The lease is held only while its session lives.
create table if not exists simba_lease
(
    name       text    not null primary key,
    session_id text    not null default '', -- '' = free
    token      integer not null             -- number of the term, never reset
) strict, without rowid;

create index if not exists idx_lease_session on simba_lease (session_id);

-- One row for each member of a group. It counts only while its session lives.
create table if not exists simba_member
(
    group_name text not null,
    session_id text not null,
    primary key (group_name, session_id)
) strict, without rowid;

create index if not exists idx_member_session on simba_member (session_id);
