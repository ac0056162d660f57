-- The three tables of Simba on PostgreSQL. Run this script once in the database that Simba uses, as the role
-- that shall own the tables; other roles need select, insert, update and delete on them. It may be run again at
-- any time.
--
-- Columns and indexes are those of the other SQL storages. The collation "C" compares byte by byte.

create table if not exists simba_session
(
    session_id char(32) collate "C"   not null primary key,
    expires_at bigint                 not null,
    metadata   varchar(1024)          not null default ''
);

create index if not exists idx_session_expires on simba_session (expires_at);

comment on table simba_session is
    'one row for each session; a keep-alive renews the session and, through it, every lease and membership';
comment on column simba_session.session_id is 'made by Simba, never used again';
comment on column simba_session.expires_at is 'database time, epoch ms';
comment on column simba_session.metadata is 'what the session says about its process';

create table if not exists simba_lease
(
    name       varchar(128) collate "C" not null primary key,
    session_id char(32) collate "C"     not null default '',
    token      bigint                   not null
);

create index if not exists idx_lease_session on simba_lease (session_id);

comment on table simba_lease is
    'one row for each name that was ever acquired, never deleted, so that the token never resets';
comment on column simba_lease.name is 'case-sensitive';
comment on column simba_lease.session_id is 'the holder, while its session lives; empty = free';
comment on column simba_lease.token is 'number of the term, never reset';

create table if not exists simba_member
(
    group_name varchar(128) collate "C" not null,
    session_id char(32) collate "C"     not null,
    primary key (group_name, session_id)
);

create index if not exists idx_member_session on simba_member (session_id);

comment on table simba_member is 'one row for each member of a group; it counts only while its session lives';
comment on column simba_member.group_name is 'case-sensitive';
comment on column simba_member.session_id is 'the member';
