//! Attributes for methods of actors that lead. There are none yet: schedules bring the first.
