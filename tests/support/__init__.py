"""What tests share and is no test itself: stores, sample entries, servers, programs in processes of their own."""
