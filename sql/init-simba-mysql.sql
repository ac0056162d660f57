-- The three tables of Simba on MySQL 8 or later and MariaDB 10.6 or later. Run it once, in the database
-- that Simba's URL names; it may be run again at any time.
--
-- Names and ids are compared byte by byte. "innodb": the other engines know no transactions. "utf8mb4" is
-- for the metadata, whatever the database's own character set.

-- One row for each session. A keep-alive renews the session and, through it, every lease and membership.
create table if not exists simba_session
(
    session_id char(32) character set ascii collate ascii_bin not null primary key comment 'fresh for each session, never used again',
    expires_at bigint                                        not null comment 'database time, epoch ms',
    metadata   varchar(1024)                                 not null default '' comment 'whose session it is, for people',
    index idx_session_expires (expires_at)
) engine = innodb default charset = utf8mb4;

-- One row for each name that was ever acquired. Never deleted, so that the token never resets: a release
-- sets session_id to '' and keeps the token. The lease is held only while its session lives.
create table if not exists simba_lease
(
    name       varchar(128) character set ascii collate ascii_bin not null primary key comment 'case-sensitive',
    session_id char(32) character set ascii collate ascii_bin     not null default '' comment 'empty = free',
    token      bigint                                             not null comment 'term number, never reset',
    index idx_lease_session (session_id)
) engine = innodb default charset = utf8mb4;

-- One row for each member of a group. It counts only while its session lives.
create table if not exists simba_member
(
    group_name varchar(128) character set utf8mb4 collate utf8mb4_bin not null comment 'case-sensitive',
    session_id char(32) character set ascii collate ascii_bin not null comment 'the member',
    primary key (group_name, session_id),
    index idx_member_session (session_id)
) engine = innodb default charset = utf8mb4;
