"""terminus-2, oracle and nop as harbor agents on a common base that owns the clock."""
